// k = Wk x + bias, v = Wv x + bias, for GPUs: two linears in one dispatch, LANES invocations TEAM_ROWS rows.
// W: (.., COLUMNS), row after row, with ROWS rows of k from FIRST on and those of v behind them; bias: as many floats as W
// has rows; x: COLUMNS floats; k, v: ROWS floats.

override ROWS: u32;
override FIRST: u32;

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> k: array<f32>;
@group(0) @binding(4) var<storage, read_write> v: array<f32>;

fn offset_of(row: u32) -> f32 { return bias[FIRST + row]; }

fn put(row: u32, value: f32) {
    if (row < ROWS) { k[row] = value; } else { v[row - ROWS] = value; }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
    multiply(team_of(group, groups, i), FIRST, 2u * ROWS, i);
}
