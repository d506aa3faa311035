// Scaled dot-product attention over the cache, for GPUs: softmax(query . keys * SCALE) @ values of one head.
// A workgroup walks its share of the cache in blocks of WORKGROUP / LANES positions, LANES invocations a key, and keeps the
// running maximum and sum of a softmax that is corrected block by block, so that any context fits. Each invocation gathers
// four elements of the output over its share of a block. A workgroup is one of SPLITS that have every SPLITS-th block each.
// The loads of the first block wait for nothing, not even the position: what lies behind it does not count.
// q, out: (rows, HEADS * HEAD_DIM) floats; keys, values: (texts, CAPACITY, KV_HEADS * HEAD_DIM) floats. HEAD_DIM is a multiple of 4
// and at most 4 * WORKGROUP. With several splits, out is for each of them and each head a part of the output, then a quad:
// the largest score, and the sum of weights in proportion to it.

override HEADS: u32;
override KV_HEADS: u32;
override HEAD_DIM: u32;
override CAPACITY: u32;
override SCALE: f32;
override SPLITS: u32 = 1u;
override QUADS: u32 = HEAD_DIM / 4u;
// Positions of a block, how many shares of it are gathered at a time, and how many positions one share has.
override BLOCK: u32 = WORKGROUP / LANES;
override SHARES: u32 = WORKGROUP / QUADS;
override VALUES: u32 = (BLOCK + SHARES - 1u) / SHARES;

var<workgroup> scores: array<f32, WORKGROUP>;
var<workgroup> shares: array<vec4<f32>, WORKGROUP>;

@group(0) @binding(0) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> keys: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> values: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> state: array<State>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4<f32>>;

fn similarity(k: u32, query: u32, key: u32) -> f32 {
    let there = min(k, QUADS - 1u);
    return select(0.0, dot(q[query + there], keys[key + there]), k < QUADS);
}

// Where a position of a text begins in keys and values, one that the cache does not have at its end.
fn place_of(text: u32, position: u32) -> u32 {
    return (text * CAPACITY + min(position, CAPACITY - 1u)) * (KV_HEADS * QUADS);
}

fn weighted(t: u32, block: u32, value: vec4<f32>) -> vec4<f32> {
    return select(vec4<f32>(), scores[min(t, BLOCK - 1u)] * value, t < block);
}

// Share k of the quad of invocation i; nothing where there are not so many.
fn share_of(k: u32, i: u32) -> vec4<f32> {
    return select(vec4<f32>(), shares[min(k, SHARES - 1u) * QUADS + i % QUADS], k < SHARES);
}

// A row of a batch sees the positions of its text up to its own.
fn attend(head: u32, row: u32, split: u32, i: u32) {
    let text = text_of(row);
    let query = (row * HEADS + head) * QUADS;
    let first = head / (HEADS / KV_HEADS) * QUADS;
    // Invocations beyond the last share gather nothing.
    let part = select(i / QUADS, BLOCK, i / QUADS >= SHARES);
    let quad = first + i % QUADS;

    var length = 1u;
    var best = -3.0e38;
    var sum = 0.0;
    var gathered = vec4<f32>();
    var start = split * BLOCK;
    loop {
        // The values do not depend on the scores: the first eight are on their way meanwhile.
        let mine = start + part;
        var v = array<vec4<f32>, 8>();
        v[0] = values[place_of(text, mine) + quad];
        if (VALUES > 1u) { v[1] = values[place_of(text, mine + SHARES) + quad]; }
        if (VALUES > 2u) { v[2] = values[place_of(text, mine + 2u * SHARES) + quad]; }
        if (VALUES > 3u) { v[3] = values[place_of(text, mine + 3u * SHARES) + quad]; }
        if (VALUES > 4u) { v[4] = values[place_of(text, mine + 4u * SHARES) + quad]; }
        if (VALUES > 5u) { v[5] = values[place_of(text, mine + 5u * SHARES) + quad]; }
        if (VALUES > 6u) { v[6] = values[place_of(text, mine + 6u * SHARES) + quad]; }
        if (VALUES > 7u) { v[7] = values[place_of(text, mine + 7u * SHARES) + quad]; }

        let key = place_of(text, start + i / LANES) + first;
        var share = 0.0;
        for (var k = i % LANES; k < QUADS; k += 8u * LANES) {
            share += similarity(k, query, key);
            if (QUADS > LANES) { share += similarity(k + LANES, query, key); }
            if (QUADS > 2u * LANES) { share += similarity(k + 2u * LANES, query, key); }
            if (QUADS > 3u * LANES) { share += similarity(k + 3u * LANES, query, key); }
            if (QUADS > 4u * LANES) { share += similarity(k + 4u * LANES, query, key); }
            if (QUADS > 5u * LANES) { share += similarity(k + 5u * LANES, query, key); }
            if (QUADS > 6u * LANES) { share += similarity(k + 6u * LANES, query, key); }
            if (QUADS > 7u * LANES) { share += similarity(k + 7u * LANES, query, key); }
        }
        length = min(position_of(row), CAPACITY - 1u) + 1u;
        let block = min(BLOCK, max(length, start) - start);
        let there = i / LANES < block;
        let score = select(-3.0e38, sum_lanes1(share, i) * SCALE, there);
        let block_best = max(best, max_all(score, i));
        let weight = select(0.0, exp(score - block_best), there && i % LANES == 0u);
        let correction = exp(best - block_best);
        best = block_best;
        if (i % LANES == 0u) { scores[i / LANES] = weight; }
        sum = sum * correction + weight;
        workgroupBarrier();

        gathered = gathered * correction + weighted(part, block, v[0]);
        if (VALUES > 1u) { gathered += weighted(part + SHARES, block, v[1]); }
        if (VALUES > 2u) { gathered += weighted(part + 2u * SHARES, block, v[2]); }
        if (VALUES > 3u) { gathered += weighted(part + 3u * SHARES, block, v[3]); }
        if (VALUES > 4u) { gathered += weighted(part + 4u * SHARES, block, v[4]); }
        if (VALUES > 5u) { gathered += weighted(part + 5u * SHARES, block, v[5]); }
        if (VALUES > 6u) { gathered += weighted(part + 6u * SHARES, block, v[6]); }
        if (VALUES > 7u) { gathered += weighted(part + 7u * SHARES, block, v[7]); }
        for (var t = part + 8u * SHARES; t < block; t += 2u * SHARES) {
            gathered += weighted(t, block, values[place_of(text, start + t) + quad]);
            gathered += weighted(t + SHARES, block, values[place_of(text, start + t + SHARES) + quad]);
        }
        workgroupBarrier();
        start += BLOCK * SPLITS;
        if (start >= length) { break; }
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
    if (SPLITS == 1u) {
        out[query + i] = total / total_weight;
    } else {
        let at = (split * HEADS + head) * (QUADS + 1u);
        out[at + i] = total;
        if (i == 0u) { out[at + QUADS] = vec4<f32>(best, total_weight, 0.0, 0.0); }
    }
}
