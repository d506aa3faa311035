// y += W x, for CPU adapters: a linear with the residual behind it.
// W: (COLUMNS, STRIDE), column after column; x: COLUMNS floats; y: STRIDE floats.

@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<f32>>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= STRIDE / 4u) { return; }
    y[id.x] += product(id.x);
}
