// angles[j] = position * inverse_frequency[j], each angle kept as the pair (cos, sin). The products come from a table
// made in float64: WGSL's own sin and cos are only accurate to 2^-11, and only inside [-pi, pi].
// table: (CAPACITY, N) pairs; angles: N = head_dim / 2 pairs. One invocation a pair.

override N: u32;
override CAPACITY: u32;

struct State { position: u32, prompt_length: u32, token: u32 }

@group(0) @binding(0) var<storage, read> table: array<vec2<f32>>;
@group(0) @binding(1) var<storage, read> state: State;
@group(0) @binding(2) var<storage, read_write> angles: array<vec2<f32>>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let j = id.x;
    if (j >= N) { return; }
    angles[j] = table[min(state.position, CAPACITY - 1u) * N + j];
}
