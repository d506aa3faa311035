// Scaled dot-product attention over the cache, for GPUs: out[head] = softmax(q[head] . keys * SCALE) @ values, for each row
// of a batch of neighbouring positions; row r sees the positions up to `position` + r. Workgroups (HEADS, rows).
// A workgroup walks the cache in blocks of WORKGROUP / LANES positions, LANES invocations a key, and keeps the running
// maximum and sum of a softmax that is corrected block by block, so that any context fits. Then each invocation gathers
// four elements of the output over its share of the block.
// q, out: (rows, HEADS * HEAD_DIM) floats; keys, values: (CAPACITY, KV_HEADS * HEAD_DIM) floats. HEAD_DIM is a multiple of 4
// and at most 4 * WORKGROUP.

override HEADS: u32;
override KV_HEADS: u32;
override HEAD_DIM: u32;
override CAPACITY: u32;
override SCALE: f32;
override QUADS: u32 = HEAD_DIM / 4u;
// Positions of a block, how many shares of it are gathered at a time, and how many positions one share has.
override BLOCK: u32 = WORKGROUP / LANES;
override SHARES: u32 = WORKGROUP / QUADS;
override VALUES: u32 = (BLOCK + SHARES - 1u) / SHARES;

struct State { position: u32, prompt_length: u32, token: u32 }

var<workgroup> query: array<vec4<f32>, QUADS>;
var<workgroup> scores: array<f32, WORKGROUP>;
var<workgroup> shares: array<vec4<f32>, WORKGROUP>;

@group(0) @binding(0) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> keys: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> values: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> state: State;
@group(0) @binding(4) var<storage, read_write> out: array<vec4<f32>>;

fn similarity(k: u32, key: u32) -> f32 {
    return dot(select(vec4<f32>(), query[min(k, QUADS - 1u)], k < QUADS), keys[key + min(k, QUADS - 1u)]);
}

fn weighted(t: u32, last: u32, value: vec4<f32>) -> vec4<f32> {
    return select(0.0, scores[min(t, last)], t <= last) * value;
}

// Share k of the quad of invocation i; nothing where there are not so many.
fn share_of(k: u32, i: u32) -> vec4<f32> {
    return select(vec4<f32>(), shares[min(k, SHARES - 1u) * QUADS + i % QUADS], k < SHARES);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let head = group.y * HEADS + group.x;
    let width = KV_HEADS * QUADS;
    let first = group.x / (HEADS / KV_HEADS) * QUADS;
    let length = min(state.position + group.y, CAPACITY - 1u) + 1u;
    // Invocations beyond the last share gather nothing.
    let part = select(i / QUADS, BLOCK, i / QUADS >= SHARES);
    let from_quad = first + i % QUADS;
    for (var k = i; k < QUADS; k += WORKGROUP) { query[k] = q[head * QUADS + k]; }
    workgroupBarrier();

    var best = -3.0e38;
    var sum = 0.0;
    var gathered = vec4<f32>();
    for (var start = 0u; start < length; start += BLOCK) {
        let last = min(BLOCK, length - start) - 1u;
        // The values do not depend on the scores: the first eight are on their way meanwhile.
        let value = start * width + from_quad;
        var v = array<vec4<f32>, 8>();
        v[0] = values[value + min(part, last) * width];
        if (VALUES > 1u) { v[1] = values[value + min(part + SHARES, last) * width]; }
        if (VALUES > 2u) { v[2] = values[value + min(part + 2u * SHARES, last) * width]; }
        if (VALUES > 3u) { v[3] = values[value + min(part + 3u * SHARES, last) * width]; }
        if (VALUES > 4u) { v[4] = values[value + min(part + 4u * SHARES, last) * width]; }
        if (VALUES > 5u) { v[5] = values[value + min(part + 5u * SHARES, last) * width]; }
        if (VALUES > 6u) { v[6] = values[value + min(part + 6u * SHARES, last) * width]; }
        if (VALUES > 7u) { v[7] = values[value + min(part + 7u * SHARES, last) * width]; }

        let there = i / LANES <= last;
        let key = (start + min(i / LANES, last)) * width + first;
        var share = 0.0;
        for (var k = i % LANES; k < QUADS; k += 8u * LANES) {
            share += similarity(k, key);
            if (QUADS > LANES) { share += similarity(k + LANES, key); }
            if (QUADS > 2u * LANES) { share += similarity(k + 2u * LANES, key); }
            if (QUADS > 3u * LANES) { share += similarity(k + 3u * LANES, key); }
            if (QUADS > 4u * LANES) { share += similarity(k + 4u * LANES, key); }
            if (QUADS > 5u * LANES) { share += similarity(k + 5u * LANES, key); }
            if (QUADS > 6u * LANES) { share += similarity(k + 6u * LANES, key); }
            if (QUADS > 7u * LANES) { share += similarity(k + 7u * LANES, key); }
        }
        let score = select(-3.0e38, sum_lanes1(share, i) * SCALE, there);
        let block_best = max(best, max_all(score, i));
        let weight = select(0.0, exp(score - block_best), there && i % LANES == 0u);
        let correction = exp(best - block_best);
        best = block_best;
        if (i % LANES == 0u) { scores[i / LANES] = weight; }
        sum = sum * correction + weight;
        workgroupBarrier();

        gathered = gathered * correction + weighted(part, last, v[0]);
        if (VALUES > 1u) { gathered += weighted(part + SHARES, last, v[1]); }
        if (VALUES > 2u) { gathered += weighted(part + 2u * SHARES, last, v[2]); }
        if (VALUES > 3u) { gathered += weighted(part + 3u * SHARES, last, v[3]); }
        if (VALUES > 4u) { gathered += weighted(part + 4u * SHARES, last, v[4]); }
        if (VALUES > 5u) { gathered += weighted(part + 5u * SHARES, last, v[5]); }
        if (VALUES > 6u) { gathered += weighted(part + 6u * SHARES, last, v[6]); }
        if (VALUES > 7u) { gathered += weighted(part + 7u * SHARES, last, v[7]); }
        for (var t = part + 8u * SHARES; t <= last; t += 2u * SHARES) {
            let even = values[value + t * width];
            let odd = values[value + min(t + SHARES, last) * width];
            gathered += weighted(t, last, even) + weighted(t + SHARES, last, odd);
        }
        workgroupBarrier();
    }
    shares[i] = gathered;
    let total_weight = sum_all(sum, i); // its barrier shows everyone the shares too
    // Eight sums of shares, then their sum.
    var eighth = vec4<f32>();
    if (i / QUADS < 8u) {
        for (var k = i / QUADS; k < SHARES; k += 32u) {
            eighth += shares[k * QUADS + i % QUADS] + share_of(k + 8u, i) + share_of(k + 16u, i) + share_of(k + 24u, i);
        }
    }
    workgroupBarrier();
    if (i / QUADS < 8u) { shares[i] = eighth; }
    workgroupBarrier();
    if (i >= QUADS) { return; }
    let total = shares[i] + share_of(1u, i) + share_of(2u, i) + share_of(3u, i)
              + share_of(4u, i) + share_of(5u, i) + share_of(6u, i) + share_of(7u, i);
    out[head * QUADS + i] = total / total_weight;
}
