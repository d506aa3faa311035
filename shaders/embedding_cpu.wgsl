// out = row `token` of an embedding that is stored column after column, since the kernels for CPU adapters use it as output
// matrix. Of a table in several buffers, the one that holds rows FIRST to FIRST + STRIDE; the others leave out alone.
// W: (COLUMNS, STRIDE); out: COLUMNS floats. One invocation an element.

override FIRST: u32 = 0u;

struct State { position: u32, prompt_length: u32, token: u32 }

@group(0) @binding(1) var<storage, read> state: State;
@group(0) @binding(2) var<storage, read_write> x: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let k = id.x;
    if (k >= COLUMNS || state.token < FIRST || state.token - FIRST >= STRIDE) { return; }
    let row = state.token - FIRST;
    x[k] = column(k, row / 4u)[row % 4u];
}
