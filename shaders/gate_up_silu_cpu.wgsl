// activated = silu(Wgate x), up = Wup x, for CPU adapters: two linears and the activation in one dispatch.
// W: (COLUMNS, 2 * ROWS), column after column, gate's rows first; x: COLUMNS floats; activated, up: ROWS floats, ROWS a
// multiple of 4.

override ROWS: u32;

@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> activated: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> up: array<vec4<f32>>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= ROWS / 4u) { return; }
    let gate = product(id.x);
    activated[id.x] = gate / (1.0 + exp(-gate));
    up[id.x] = product(ROWS / 4u + id.x);
}
