// RoPE on q and k, and k and v into the cache, for each row of a batch.
// qkv: (rows, (HEADS + 2 * KV_HEADS) * HEAD_DIM) floats; rotary: (CAPACITY, HEAD_DIM / 2) pairs (cos, sin); q: (rows, HEADS
// * HEAD_DIM) floats; keys, values: (texts, CAPACITY, KV_HEADS * HEAD_DIM) floats. Positions beyond
// the cache are left alone. One invocation two elements that RoPE turns together; workgroups (pairs / 64, rows).

override HEADS: u32;
override KV_HEADS: u32;
override HEAD_DIM: u32;
override CAPACITY: u32;

@group(0) @binding(0) var<storage, read> qkv: array<f32>;
@group(0) @binding(1) var<storage, read> rotary: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read> state: array<State>;
@group(0) @binding(3) var<storage, read_write> q: array<f32>;
@group(0) @binding(4) var<storage, read_write> keys: array<f32>;
@group(0) @binding(5) var<storage, read_write> values: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let half = HEAD_DIM / 2u;
    let heads = HEADS + 2u * KV_HEADS;
    let position = position_of(id.y);
    if (id.x >= heads * half || position >= CAPACITY) { return; }
    let head = id.x / half;
    let j = id.x % half;
    let element = head * HEAD_DIM + j;
    let from_qkv = id.y * heads * HEAD_DIM + element;
    let both = vec2<f32>(qkv[from_qkv], qkv[from_qkv + half]);
    let turn = rotary[position * half + j];
    let turned = vec2<f32>(both.x * turn.x - both.y * turn.y, both.y * turn.x + both.x * turn.y);
    let width = KV_HEADS * HEAD_DIM;
    let place = (text_of(id.y) * CAPACITY + position) * width;
    if (head < HEADS) {
        let at = id.y * HEADS * HEAD_DIM + element;
        q[at] = turned.x;
        q[at + half] = turned.y;
    } else if (head < HEADS + KV_HEADS) {
        let at = place + element - HEADS * HEAD_DIM;
        keys[at] = turned.x;
        keys[at + half] = turned.y;
    } else {
        let at = place + element - (HEADS + KV_HEADS) * HEAD_DIM;
        values[at] = both.x;
        values[at + half] = both.y;
    }
}
