// The last step of greedy sampling: chooses the next token, notes it and moves to the next position, so that a decode
// step needs nothing from the CPU. Inside the prompt the next token is the prompt's, behind it the one with the largest
// logit (of equals the first). A chosen stop token is noted and stops the text: later steps change nothing.
// A workgroup a text, which has a part of each of: best: PARTS pairs of value and index; prompt: CAPACITY ids; tokens: CAPACITY + 1 ids, the token at each position; stops:
// their number, then ids. At the end of the cache the position stays, and nothing is noted.

override PARTS: u32;
override CAPACITY: u32;

struct Best { value: f32, index: u32 }

const LANES = 256u;
var<workgroup> tree: array<Best, LANES>;

@group(0) @binding(0) var<storage, read> best: array<Best>;
@group(0) @binding(1) var<storage, read> prompt: array<u32>;
@group(0) @binding(2) var<storage, read> stops: array<u32>;
@group(0) @binding(3) var<storage, read_write> state: array<State>;
@group(0) @binding(4) var<storage, read_write> tokens: array<u32>;

fn larger(a: Best, b: Best) -> Best {
    if (b.value > a.value || (b.value == a.value && b.index < a.index)) { return b; }
    return a;
}

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let text = group.x;
    var mine = best[text * PARTS + min(lane, PARTS - 1u)];
    for (var i = lane + LANES; i < PARTS; i += LANES) { mine = larger(mine, best[text * PARTS + i]); }
    tree[lane] = mine;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) { tree[lane] = larger(tree[lane], tree[lane + half]); }
    }
    if (lane != 0u || state[text].position >= CAPACITY || state[text].stopped != 0u) { return; }
    let next = state[text].position + 1u;
    var token = tree[0].index;
    if (next < state[text].prompt_length) {
        token = prompt[text * CAPACITY + next];
    } else {
        for (var k = 1u; k <= stops[0]; k++) {
            if (stops[k] == token) { state[text].stopped = 1u; }
        }
    }
    tokens[text * (CAPACITY + 1u) + next] = token;
    state[text].token = token;
    state[text].position = next;
}
