// The last step of random sampling, in the place of advance.wgsl: draws the next token from softmax(logits / temperature),
// cut to the top-k largest logits and then to the fewest of them that hold top-p of the mass. Both cuts are a threshold
// found by bisection over the bits of the logits, so equal logits at the edge are all kept. The generator is PCG with its
// state in the buffer; a step that draws moves it on. Position, prompt and stops are as in advance.wgsl.
// A workgroup a text, which has a part of each of: logits: N of STRIDE floats; best: PARTS pairs of value and index from argmax.wgsl, the largest logits of parts; prompt: CAPACITY ids;
// tokens: CAPACITY + 1 ids; stops: their number, then ids.

override N: u32;
override PARTS: u32;
override CAPACITY: u32;
override STRIDE: u32 = N;

struct Best { value: f32, index: u32 }
// temperature is above 0; top_k = 0 keeps all.
struct Settings { temperature: f32, top_p: f32, top_k: u32, unused: u32 }

const LANES = 256u;
var<workgroup> sums: array<f32, LANES>;
var<workgroup> counts: array<u32, LANES>;
var<workgroup> chosen: u32;
var<private> text: u32;

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read> best: array<Best>;
@group(0) @binding(2) var<storage, read> settings: Settings;
@group(0) @binding(3) var<storage, read> prompt: array<u32>;
@group(0) @binding(4) var<storage, read> stops: array<u32>;
@group(0) @binding(5) var<storage, read_write> state: array<State>;
@group(0) @binding(6) var<storage, read_write> tokens: array<u32>;

// Floats as integers in the same order.
fn key_of(value: f32) -> u32 {
    let bits = bitcast<u32>(value);
    return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u);
}

fn total(value: f32, lane: u32) -> f32 {
    sums[lane] = value;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) { sums[lane] += sums[lane + half]; }
    }
    workgroupBarrier();
    let result = sums[0];
    workgroupBarrier();
    return result;
}

fn largest(lane: u32) -> f32 {
    var mine = -3.4e38;
    for (var i = lane; i < PARTS; i += LANES) { mine = max(mine, best[text * PARTS + i].value); }
    sums[lane] = mine;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) { sums[lane] = max(sums[lane], sums[lane + half]); }
    }
    workgroupBarrier();
    let result = sums[0];
    workgroupBarrier();
    return result;
}

// How many logits have a key of at least `edge`.
fn count(edge: u32, lane: u32) -> u32 {
    var mine = 0u;
    for (var i = lane; i < N; i += LANES) { mine += select(0u, 1u, key_of(logits[text * STRIDE + i]) >= edge); }
    counts[lane] = mine;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) { counts[lane] += counts[lane + half]; }
    }
    workgroupBarrier();
    let result = counts[0];
    workgroupBarrier();
    return result;
}

fn mass(edge: u32, top: f32, lane: u32) -> f32 {
    var mine = 0.0;
    for (var i = lane; i < N; i += LANES) {
        let logit = logits[text * STRIDE + i];
        if (key_of(logit) >= edge) { mine += exp((logit - top) / settings.temperature); }
    }
    return total(mine, lane);
}

fn draw(state_before: u32) -> u32 {
    let word = ((state_before >> ((state_before >> 28u) + 4u)) ^ state_before) * 277803737u;
    return (word >> 22u) ^ word;
}

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    text = group.x;
    let top = largest(lane);
    // The largest edge that keeps at least top_k logits: bit by bit from above.
    var edge = 0u;
    if (settings.top_k > 0u && settings.top_k < N) {
        for (var bit = 0x80000000u; bit > 0u; bit >>= 1u) {
            if (count(edge | bit, lane) >= settings.top_k) { edge |= bit; }
        }
    }
    // The largest edge that keeps at least top_p of what is left.
    var kept = mass(edge, top, lane);
    if (settings.top_p < 1.0) {
        let wanted = settings.top_p * kept;
        var higher = 0u;
        for (var bit = 0x80000000u; bit > 0u; bit >>= 1u) {
            if (mass(max(edge, higher | bit), top, lane) >= wanted) { higher |= bit; }
        }
        edge = max(edge, higher);
        kept = mass(edge, top, lane);
    }

    // Every lane sums its own stretch; the lane whose stretch holds the drawn point walks it.
    let stretch = (N + LANES - 1u) / LANES;
    let start = lane * stretch;
    let end = min(start + stretch, N);
    var mine = 0.0;
    for (var i = start; i < end; i++) {
        if (key_of(logits[text * STRIDE + i]) >= edge) { mine += exp((logits[text * STRIDE + i] - top) / settings.temperature); }
    }
    sums[lane] = mine;
    if (lane == 0u) { chosen = 0xffffffffu; }
    workgroupBarrier();
    let random = state[text].random * 747796405u + 2891336453u;
    var before = 0.0;
    for (var k = 0u; k < lane; k++) { before += sums[k]; }
    var whole = before;
    for (var k = lane; k < LANES; k++) { whole += sums[k]; }
    let point = f32(draw(random) >> 8u) / 16777216.0 * whole;
    if (mine > 0.0 && point >= before && point < before + mine) {
        var sum = before;
        var last = start;
        for (var i = start; i < end; i++) {
            if (key_of(logits[text * STRIDE + i]) >= edge) {
                last = i;
                sum += exp((logits[text * STRIDE + i] - top) / settings.temperature);
                if (point < sum) { break; }
            }
        }
        chosen = last;
    }
    workgroupBarrier();
    if (lane != 0u || state[text].position >= CAPACITY || state[text].stopped != 0u) { return; }
    let next = state[text].position + 1u;
    var token = chosen;
    if (token >= N) { token = best[text * PARTS].index; }
    if (next < state[text].prompt_length) {
        token = prompt[text * CAPACITY + next];
    } else {
        state[text].random = random;
        for (var k = 1u; k <= stops[0]; k++) {
            if (stops[k] == token) { state[text].stopped = 1u; }
        }
    }
    tokens[text * (CAPACITY + 1u) + next] = token;
    state[text].token = token;
    state[text].position = next;
}
