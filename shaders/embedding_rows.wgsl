// The rows of the embedding for the prompt's tokens from `position` on, or for the token of each text, for GPUs. Of a table in several buffers, the one that holds rows
// FIRST to FIRST + ROWS; the others leave out alone.
// W: (ROWS, COLUMNS), row after row; prompt: CAPACITY ids; x: (rows, COLUMNS) floats. Workgroups (quads / 64, rows).

override FIRST: u32 = 0u;
override ROWS: u32;
override CAPACITY: u32;

@group(0) @binding(1) var<storage, read> state: array<State>;
@group(0) @binding(2) var<storage, read> prompt: array<u32>;
@group(0) @binding(3) var<storage, read_write> x: array<vec4<f32>>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    var token = prompt[min(position_of(id.y), CAPACITY - 1u)];
    if (TEXTS > 1u) { token = state[id.y].token; }
    if (id.x >= COLUMNS / 4u || token < FIRST || token - FIRST >= ROWS) { return; }
    let values = row_chunk(token - FIRST, id.x / 2u);
    if (id.x % 2u == 0u) { x[id.y * COLUMNS / 4u + id.x] = values.a; } else { x[id.y * COLUMNS / 4u + id.x] = values.b; }
}
