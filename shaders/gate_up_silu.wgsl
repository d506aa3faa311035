// activated = silu(Wgate x), up = Wup x, for GPUs: two linears and the activation in one dispatch, LANES invocations a
// row of both.
// W: (2 * ROWS, COLUMNS), row after row, gate's rows first; x: COLUMNS floats; activated, up: ROWS floats.

override ROWS: u32;

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> activated: array<f32>;
@group(0) @binding(3) var<storage, read_write> up: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
    let row = (group.y * groups.x + group.x) * (WORKGROUP / LANES) + i / LANES;
    let mine = min(row, ROWS - 1u);
    let sum = sum_lanes(vec4<f32>(products(vec2<u32>(mine, ROWS + mine), i % LANES), 0.0, 0.0), i);
    if (i % LANES != 0u || row >= ROWS) { return; }
    activated[row] = sum.x / (1.0 + exp(-sum.x));
    up[row] = sum.y;
}
