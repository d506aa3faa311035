// k = Wk x + bias, v = Wv x + bias, for GPUs: two linears in one dispatch, LANES invocations a row.
// W: (.., COLUMNS), row after row, with ROWS rows of k from FIRST on and those of v behind them; bias: as many floats as W
// has rows; x: COLUMNS floats; k, v: ROWS floats.

override ROWS: u32;
override FIRST: u32;

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> k: array<f32>;
@group(0) @binding(4) var<storage, read_write> v: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
    let row = (group.y * groups.x + group.x) * (WORKGROUP / LANES) + i / LANES;
    let sum = sum_lanes1(product(FIRST + min(row, 2u * ROWS - 1u), i % LANES), i);
    if (i % LANES != 0u || row >= 2u * ROWS) { return; }
    let result = sum + bias[FIRST + row];
    if (row < ROWS) { k[row] = result; } else { v[row - ROWS] = result; }
}
