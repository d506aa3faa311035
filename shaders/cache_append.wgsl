// cache[position] = x: one token's keys or values join the cache. A position beyond the cache is left alone.
// x: WIDTH = kv_heads * head_dim floats; cache: CAPACITY rows of WIDTH floats. One invocation an element of x.

override WIDTH: u32;
override CAPACITY: u32;

struct State { position: u32, prompt_length: u32, token: u32 }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> state: State;
@group(0) @binding(2) var<storage, read_write> cache: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= WIDTH || state.position >= CAPACITY) { return; }
    cache[state.position * WIDTH + i] = x[i];
}
