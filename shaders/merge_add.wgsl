// y += W a, with a put together from the parts of a split attention, for GPUs: a workgroup takes a into its own memory,
// with its first loads of W under way, LANES invocations a row.
// W: (ROWS, HEADS * HEAD_DIM), row after row; parts: as parts/attend.wgsl has them; y: ROWS floats.

override ROWS: u32;
override HEADS: u32;
override HEAD_DIM: u32;
override SPLITS: u32;
override QUADS: u32 = HEAD_DIM / 4u;
override STAGED: u32 = 2u * CHUNKS;

var<workgroup> x: array<vec4<f32>, STAGED>;

@group(0) @binding(1) var<storage, read> parts: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

fn merged(head: u32, quad: u32) -> vec4<f32> {
    var best = -3.0e38;
    for (var s = 0u; s < SPLITS; s++) { best = max(best, parts[(s * HEADS + head) * (QUADS + 1u) + QUADS].x); }
    var weight = 0.0;
    var value = vec4<f32>();
    for (var s = 0u; s < SPLITS; s++) {
        let at = (s * HEADS + head) * (QUADS + 1u);
        let factor = exp(parts[at + QUADS].x - best);
        weight += factor * parts[at + QUADS].y;
        value += factor * parts[at + quad];
    }
    return value / weight;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
    let row = (group.y * groups.x + group.x) * (WORKGROUP / LANES) + i / LANES;
    let there = i % LANES == 0u && row < ROWS;
    let lane = i % LANES;
    let mine = min(row, ROWS - 1u);
    var before = 0.0;
    if (there) { before = y[row]; }
    let w0 = row_chunk(mine, lane);
    let w1 = row_chunk(mine, lane + LANES);
    let w2 = row_chunk(mine, lane + 2u * LANES);
    let w3 = row_chunk(mine, lane + 3u * LANES);
    for (var k = i; k < STAGED; k += WORKGROUP) {
        x[k] = vec4<f32>();
        if (k < HEADS * QUADS) { x[k] = merged(k / QUADS, k % QUADS); }
    }
    workgroupBarrier();
    var share = dot8(w0, input(lane)) + dot8(w1, input(lane + LANES)) + dot8(w2, input(lane + 2u * LANES))
              + dot8(w3, input(lane + 3u * LANES));
    for (var c = lane + 4u * LANES; c < CHUNKS; c += LANES) { share += dot8(row_chunk(mine, c), input(c)); }
    let sum = sum_lanes1(share, i);
    if (there) { y[row] = before + sum; }
}
