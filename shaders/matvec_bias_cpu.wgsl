// y = W x + bias, for CPU adapters: rows FIRST to FIRST + ROWS of W and bias.
// W: (COLUMNS, STRIDE), column after column; x: COLUMNS floats; bias: STRIDE floats; y: ROWS floats. FIRST and ROWS are
// multiples of 4.

override ROWS: u32;
override FIRST: u32 = 0u;

@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4<f32>>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= ROWS / 4u) { return; }
    y[id.x] = product(FIRST / 4u + id.x) + bias[FIRST / 4u + id.x];
}
