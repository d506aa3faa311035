// Scaled dot-product attention of one token over the cache: out[head] = softmax(q[head] . keys * SCALE) @ values.
// For GPUs: a workgroup a head walks the cache in blocks of 128 positions, one key a lane, and keeps the running maximum
// and sum of a softmax that is corrected block by block, so that any context fits.
// q, out: HEADS * HEAD_DIM floats; keys, values: (capacity, KV_HEADS * HEAD_DIM) floats, filled up to `position`.
// HEAD_DIM is a multiple of 4.

override HEADS: u32;
override KV_HEADS: u32;
override HEAD_DIM: u32;
override CAPACITY: u32;
override SCALE: f32;

struct State { position: u32, prompt_length: u32, token: u32 }

const LANES = 128u;
var<workgroup> scores: array<f32, LANES>;
var<workgroup> tree: array<f32, LANES>;

@group(0) @binding(0) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> keys: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> values: array<f32>;
@group(0) @binding(3) var<storage, read> state: State;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

// Both leave their result with every lane.
fn largest(value: f32, lane: u32) -> f32 {
    tree[lane] = value;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) { tree[lane] = max(tree[lane], tree[lane + half]); }
    }
    workgroupBarrier();
    let result = tree[0];
    workgroupBarrier();
    return result;
}

fn total(value: f32, lane: u32) -> f32 {
    tree[lane] = value;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) { tree[lane] += tree[lane + half]; }
    }
    workgroupBarrier();
    let result = tree[0];
    workgroupBarrier();
    return result;
}

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let head = group.x;
    let kv_head = head / (HEADS / KV_HEADS);
    let quads = HEAD_DIM / 4u;
    let width = KV_HEADS * HEAD_DIM;
    let length = min(state.position, CAPACITY - 1u) + 1u;

    var best = -3.0e38;
    var sum = 0.0;
    // Lane d gathers out[d], out[d + LANES], ...; HEAD_DIM is at most 2 * LANES.
    var gathered = vec2<f32>();
    for (var start = 0u; start < length; start += LANES) {
        let position = start + lane;
        var score = -3.0e38;
        if (position < length) {
            score = 0.0;
            let key = (position * width + kv_head * HEAD_DIM) / 4u;
            for (var j = 0u; j < quads; j++) { score += dot(q[head * quads + j], keys[key + j]); }
            score *= SCALE;
        }
        let block_best = max(best, largest(score, lane));
        let correction = exp(best - block_best);
        best = block_best;
        let weight = select(0.0, exp(score - best), position < length);
        scores[lane] = weight;
        sum = sum * correction + total(weight, lane);

        gathered *= correction;
        let block_length = min(LANES, length - start);
        for (var part = 0u; part < 2u; part++) {
            let d = lane + part * LANES;
            if (d < HEAD_DIM) {
                for (var t = 0u; t < block_length; t++) {
                    gathered[part] += scores[t] * values[(start + t) * width + kv_head * HEAD_DIM + d];
                }
            }
        }
        workgroupBarrier();
    }
    for (var part = 0u; part < 2u; part++) {
        let d = lane + part * LANES;
        if (d < HEAD_DIM) { out[head * HEAD_DIM + d] = gathered[part] / sum; }
    }
}
