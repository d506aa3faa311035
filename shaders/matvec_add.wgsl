// y += W x, for GPUs: a linear with the residual behind it, LANES invocations a row.
// W: (ROWS, COLUMNS), row after row; x: COLUMNS floats; y: ROWS floats.

override ROWS: u32;

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
    let row = (group.y * groups.x + group.x) * (WORKGROUP / LANES) + i / LANES;
    let there = i % LANES == 0u && row < ROWS;
    var before = 0.0;
    if (there) { before = y[row]; }
    let sum = sum_lanes1(product(min(row, ROWS - 1u), i % LANES), i);
    if (there) { y[row] = before + sum; }
}
