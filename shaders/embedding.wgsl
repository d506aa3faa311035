// out = row `token` of the embedding.
// table: (vocabulary, N) floats, row after row; out: N floats. One invocation an element.

override N: u32;

struct State { position: u32, prompt_length: u32, token: u32 }

@group(0) @binding(0) var<storage, read> table: array<f32>;
@group(0) @binding(1) var<storage, read> state: State;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= N) { return; }
    out[i] = table[state.token * N + i];
}
