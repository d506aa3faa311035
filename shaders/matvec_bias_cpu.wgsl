// y = W x + bias. For CPU adapters, where barriers and subgroups are slow: an invocation does 4 neighbouring rows alone.
// W: (COLUMNS, ROWS) floats, column after column, ROWS a multiple of 4; x: COLUMNS floats; bias, y: ROWS floats.
// Small workgroups, so that the narrow matrices still keep every core busy.

override ROWS: u32;
override COLUMNS: u32;

@group(0) @binding(0) var<storage, read> w: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4<f32>>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let quad = id.x;
    let quads = ROWS / 4u;
    if (quad >= quads) { return; }
    var sum = vec4<f32>();
    for (var k = 0u; k < COLUMNS; k++) { sum += w[k * quads + quad] * x[k]; }
    y[quad] = sum + bias[quad];
}
