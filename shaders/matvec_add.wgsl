// y += W x, for GPUs: a linear with the residual behind it, LANES invocations TEAM_ROWS rows.
// W: (ROWS, COLUMNS), row after row; x: COLUMNS floats; y: ROWS floats.

override ROWS: u32;

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

fn offset_of(row: u32) -> f32 { return y[row]; }

fn put(row: u32, value: f32) { y[row] = value; }

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
    multiply(team_of(group, groups, i), 0u, ROWS, i);
}
