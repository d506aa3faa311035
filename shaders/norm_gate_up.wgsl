// y = silu(Wgate n) * (Wup n) with n the RMS norm of x, for GPUs: LANES invocations a row of both.
// W: (2 * ROWS, COLUMNS), row after row, gate's rows first; x, gain: COLUMNS floats; y: ROWS floats.

override ROWS: u32;

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> gain: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
    let row = (group.y * groups.x + group.x) * (WORKGROUP / LANES) + i / LANES;
    let mine = min(row, ROWS - 1u);
    let both = normed(sum_lanes(normed_products(vec2<u32>(mine, ROWS + mine), i % LANES), i));
    if (i % LANES == 0u && row < ROWS) { y[row] = both.x / (1.0 + exp(-both.x)) * both.y; }
}
