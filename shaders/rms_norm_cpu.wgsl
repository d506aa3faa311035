// y = x / sqrt(mean(x^2) + EPS) * gain, row by row, for CPU adapters: an invocation a row.
// x, y: (ROWS, COLUMNS) floats, COLUMNS a multiple of 4; gain: COLUMNS floats.

override ROWS: u32;
override COLUMNS: u32;
override EPS: f32;

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> gain: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<f32>>;

@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) group: vec3<u32>) {
    if (group.x >= ROWS) { return; }
    let quads = COLUMNS / 4u;
    let row = group.x * quads;
    var squares = vec4<f32>();
    for (var k = 0u; k < quads; k++) { squares += x[row + k] * x[row + k]; }
    let factor = inverseSqrt(dot(squares, vec4<f32>(1.0)) / f32(COLUMNS) + EPS);
    for (var k = 0u; k < quads; k++) { y[row + k] = x[row + k] * factor * gain[k]; }
}
