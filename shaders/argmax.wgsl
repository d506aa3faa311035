// The first step of greedy sampling, for GPUs: the largest of each of PARTS interleaved parts of the logits, a workgroup a
// part. Of equals the first counts.
// logits: (rows, STRIDE) floats, of which N count; best: (rows, PARTS) pairs of value and index. Workgroups (PARTS, rows).

override N: u32;
override PARTS: u32;
override STRIDE: u32 = N;

struct Best { value: f32, index: u32 }

const LANES = 256u;
var<workgroup> tree: array<Best, LANES>;

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read_write> best: array<Best>;

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let row = group.y * STRIDE;
    let first = group.x * LANES + lane;
    var mine = Best(-3.4e38, min(first, N - 1u));
    for (var i = first; i < N; i += PARTS * LANES) {
        if (logits[row + i] > mine.value) { mine = Best(logits[row + i], i); }
    }
    tree[lane] = mine;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) {
            let other = tree[lane + half];
            if (other.value > tree[lane].value || (other.value == tree[lane].value && other.index < tree[lane].index)) {
                tree[lane] = other;
            }
        }
    }
    if (lane == 0u) { best[group.y * PARTS + group.x] = tree[0]; }
}
