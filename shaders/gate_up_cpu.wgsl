// y = silu(Wgate x) * (Wup x), for CPU adapters.
// W: (COLUMNS, 2 * ROWS), column after column, gate's rows first; x: COLUMNS floats; y: ROWS floats, ROWS a multiple of 4.

override ROWS: u32;

@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<f32>>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= ROWS / 4u) { return; }
    let gate = product(id.x);
    y[id.x] = gate / (1.0 + exp(-gate)) * product(ROWS / 4u + id.x);
}
