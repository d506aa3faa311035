// y = x / sqrt(mean(x^2) + EPS) * gain, row by row, for GPUs: a workgroup a row.
// x, y: (rows, COLUMNS) floats, COLUMNS a multiple of 4; gain: COLUMNS floats.

override COLUMNS: u32;
override EPS: f32;

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> gain: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<f32>>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let quads = COLUMNS / 4u;
    let row = group.x * quads;
    let mine = min(i, quads - 1u);
    let first = x[row + mine];
    let first_gain = gain[mine];
    var squares = select(0.0, dot(first, first), i < quads);
    for (var k = i + WORKGROUP; k < quads; k += WORKGROUP) { squares += dot(x[row + k], x[row + k]); }
    let factor = inverseSqrt(sum_all(squares, i) / f32(COLUMNS) + EPS);
    if (i < quads) { y[row + i] = first * factor * first_gain; }
    for (var k = i + WORKGROUP; k < quads; k += WORKGROUP) { y[row + k] = x[row + k] * factor * gain[k]; }
}
