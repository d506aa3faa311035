// The rows of the embedding for the prompt's tokens from `position` on, or for the token of each text, for CPU adapters. Of a table in several buffers, the one that holds
// rows FIRST to FIRST + STRIDE; the others leave out alone.
// W: (COLUMNS, STRIDE), column after column; prompt: CAPACITY ids; x: (rows, COLUMNS) floats. Workgroups (columns / 64, rows).

override FIRST: u32 = 0u;
override CAPACITY: u32;

@group(0) @binding(1) var<storage, read> state: array<State>;
@group(0) @binding(2) var<storage, read> prompt: array<u32>;
@group(0) @binding(3) var<storage, read_write> x: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    var token = prompt[min(position_of(id.y), CAPACITY - 1u)];
    if (TEXTS > 1u) { token = state[id.y].token; }
    if (id.x >= COLUMNS || token < FIRST || token - FIRST >= STRIDE) { return; }
    let row = token - FIRST;
    x[id.y * COLUMNS + id.x] = column(id.x, row / 4u)[row % 4u];
}
