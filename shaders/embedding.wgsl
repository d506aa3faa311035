// out = row `token` of the embedding, for GPUs. Of a table in several buffers, the one that holds rows FIRST to
// FIRST + ROWS; the others leave out alone.
// W: (ROWS, COLUMNS), row after row; out: COLUMNS floats. One invocation 8 elements.

override FIRST: u32 = 0u;
override ROWS: u32;

struct State { position: u32, prompt_length: u32, token: u32 }

@group(0) @binding(1) var<storage, read> state: State;
@group(0) @binding(2) var<storage, read_write> x: array<vec4<f32>>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= CHUNKS || state.token < FIRST || state.token - FIRST >= ROWS) { return; }
    let values = row_chunk(state.token - FIRST, i);
    x[2u * i] = values.a;
    x[2u * i + 1u] = values.b;
}
