// k = Wk x + bias, v = Wv x + bias, for CPU adapters: two linears in one dispatch.
// W: (COLUMNS, STRIDE), column after column, with ROWS rows of k from FIRST on and those of v behind them; x: COLUMNS
// floats; bias: STRIDE floats; k, v: ROWS floats. FIRST and ROWS are multiples of 4.

override ROWS: u32;
override FIRST: u32;

@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> k: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> v: array<vec4<f32>>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let quads = ROWS / 4u;
    if (id.x >= 2u * quads) { return; }
    let result = product(FIRST / 4u + id.x) + bias[FIRST / 4u + id.x];
    if (id.x < quads) { k[id.x] = result; } else { v[id.x - quads] = result; }
}
