// y = W x + bias. For GPUs: 32 lanes share a row and add their parts in a tree.
// W: (ROWS, COLUMNS) floats, row after row, COLUMNS a multiple of 4; x: COLUMNS floats; bias, y: ROWS floats.
// A workgroup does 4 rows; the workgroups may form a grid of two dimensions.

override ROWS: u32;
override COLUMNS: u32;

const LANES = 32u;
const ROWS_A_WORKGROUP = 4u;
var<workgroup> sums: array<f32, LANES * ROWS_A_WORKGROUP>;

@group(0) @binding(0) var<storage, read> w: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(LANES * ROWS_A_WORKGROUP)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
    let lane = i % LANES;
    let row = (group.y * groups.x + group.x) * ROWS_A_WORKGROUP + i / LANES;
    let quads = COLUMNS / 4u;
    var sum = 0.0;
    if (row < ROWS) {
        for (var k = lane; k < quads; k += LANES) { sum += dot(w[row * quads + k], x[k]); }
    }
    sums[i] = sum;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) { sums[i] += sums[i + half]; }
    }
    if (lane == 0u && row < ROWS) { y[row] = sums[i] + bias[row]; }
}
