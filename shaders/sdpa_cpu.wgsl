// Scaled dot-product attention over the cache: out[head] = softmax(q[head] . keys * SCALE) @ values, for each row of a batch,
// which sees the positions of its text up to its own. Workgroups (HEADS, rows).
// For CPU adapters, where barriers are slow: a workgroup does a head in blocks of LANES positions and meets twice a block.
// First a lane scores one key; then every lane takes all scores of the block into its own running maximum and sum, and
// gathers its own four elements of the output.
// q, out: (rows, HEADS * HEAD_DIM) floats; keys, values: (texts, CAPACITY, KV_HEADS * HEAD_DIM) floats, filled up to there.
// HEAD_DIM is a multiple of 4 and the workgroup has HEAD_DIM / 4 lanes.

override HEADS: u32;
override KV_HEADS: u32;
override HEAD_DIM: u32;
override CAPACITY: u32;
override SCALE: f32;
override LANES: u32 = HEAD_DIM / 4u;

var<workgroup> scores: array<f32, LANES>;

@group(0) @binding(0) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> keys: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> values: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> state: array<State>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4<f32>>;

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let head = group.y * HEADS + group.x;
    let kv_head = group.x / (HEADS / KV_HEADS);
    let width = KV_HEADS * LANES;
    // LANES again, but known at run time only: unrolled, the loop takes a software driver seconds to compile.
    let length = min(position_of(group.y), CAPACITY - 1u) + 1u;
    let first = text_of(group.y) * CAPACITY;
    let quads = LANES + (length >> 31u);

    var best = -3.0e38;
    var sum = 0.0;
    var gathered = vec4<f32>();
    for (var start = 0u; start < length; start += LANES) {
        let key = (first + min(start + lane, length - 1u)) * width + kv_head * LANES;
        var score = 0.0;
        for (var j = 0u; j < quads; j++) { score += dot(q[head * LANES + j], keys[key + j]); }
        scores[lane] = score * SCALE;
        workgroupBarrier();

        let block = min(LANES, length - start);
        var new_best = best;
        for (var t = 0u; t < block; t++) { new_best = max(new_best, scores[t]); }
        let correction = exp(best - new_best);
        best = new_best;
        sum *= correction;
        gathered *= correction;
        for (var t = 0u; t < block; t++) {
            let weight = exp(scores[t] - best);
            sum += weight;
            gathered += weight * values[(first + start + t) * width + kv_head * LANES + lane];
        }
        workgroupBarrier();
    }
    out[head * LANES + lane] = gathered / sum;
}
