// The end of a batch of the prompt: moves TOKENS positions on, but not behind the prompt's last token, which a decode step
// takes, and notes the tokens passed.
// prompt: CAPACITY ids; tokens: CAPACITY + 1 ids, the token at each position.

override TOKENS: u32;

struct State { position: u32, prompt_length: u32, token: u32 }

@group(0) @binding(0) var<storage, read> prompt: array<u32>;
@group(0) @binding(1) var<storage, read_write> state: State;
@group(0) @binding(2) var<storage, read_write> tokens: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lane: u32) {
    let position = state.position;
    let next = max(position, min(position + TOKENS, max(state.prompt_length, 1u) - 1u));
    for (var i = position + 1u + lane; i <= next; i += 64u) { tokens[i] = prompt[i]; }
    storageBarrier();
    workgroupBarrier();
    if (lane == 0u && next > position) {
        state.position = next;
        state.token = prompt[next];
    }
}
