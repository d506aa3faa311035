// The start of a fused step: the token's row of the embedding, and where the token stands.
// W: (ROWS, COLUMNS), row after row; rotary: (CAPACITY, HEAD_DIM / 2) pairs (cos, sin); x: COLUMNS floats; place: the
// position's HEAD_DIM / 2 pairs and a last pair with the position itself as bits. One invocation 8 elements or a pair.

override FIRST: u32 = 0u;
override ROWS: u32;
override HEAD_DIM: u32;
override CAPACITY: u32;

struct State { position: u32, prompt_length: u32, token: u32 }

@group(0) @binding(1) var<storage, read> state: State;
@group(0) @binding(2) var<storage, read> rotary: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read_write> x: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> place: array<vec2<f32>>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    let half = HEAD_DIM / 2u;
    if (i < half) { place[i] = rotary[min(state.position, CAPACITY - 1u) * half + i]; }
    if (i == half) { place[i] = vec2<f32>(bitcast<f32>(state.position), 0.0); }
    if (i < CHUNKS && state.token >= FIRST && state.token - FIRST < ROWS) {
        let values = row_chunk(state.token - FIRST, i);
        x[2u * i] = values.a;
        x[2u * i + 1u] = values.b;
    }
}
