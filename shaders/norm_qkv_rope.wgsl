// The way to attention in one dispatch, for GPUs: RMS norm of x, the q, k and v linears with bias, RoPE on q and k, and k
// and v into the cache. LANES invocations do two rows that RoPE turns together, i and i + HEAD_DIM / 2 of a head.
// W: ((HEADS + 2 * KV_HEADS) * HEAD_DIM, COLUMNS), row after row, q, k, v; x, gain: COLUMNS floats; bias: as many floats as
// W has rows; place: HEAD_DIM / 2 pairs (cos, sin) of the present position and the position itself; q: HEADS * HEAD_DIM
// floats; keys, values: (CAPACITY, KV_HEADS * HEAD_DIM) floats. A position beyond the cache is left alone.

override HEADS: u32;
override KV_HEADS: u32;
override HEAD_DIM: u32;
override CAPACITY: u32;

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> gain: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> place: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read_write> q: array<f32>;
@group(0) @binding(6) var<storage, read_write> keys: array<f32>;
@group(0) @binding(7) var<storage, read_write> values: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
    let half = HEAD_DIM / 2u;
    let pairs = (HEADS + 2u * KV_HEADS) * half;
    let pair = (group.y * groups.x + group.x) * (WORKGROUP / LANES) + i / LANES;
    let mine = min(pair, pairs - 1u);
    let head = mine / half;
    let row = head * HEAD_DIM + mine % half;
    let turn = place[mine % half];
    let position = bitcast<u32>(place[half].x);
    let offset = vec2<f32>(bias[row], bias[row + half]);
    let both = normed(sum_lanes(normed_products(vec2<u32>(row, row + half), i % LANES), i)) + offset;
    if (i % LANES != 0u || pair >= pairs) { return; }

    let turned = vec2<f32>(both.x * turn.x - both.y * turn.y, both.y * turn.x + both.x * turn.y);
    if (head < HEADS) {
        q[row] = turned.x;
        q[row + half] = turned.y;
        return;
    }
    if (position >= CAPACITY) { return; }
    let width = KV_HEADS * HEAD_DIM;
    if (head < HEADS + KV_HEADS) {
        let at = position * width + row - HEADS * HEAD_DIM;
        keys[at] = turned.x;
        keys[at + half] = turned.y;
    } else {
        let at = position * width + row - (HEADS + KV_HEADS) * HEAD_DIM;
        values[at] = both.x;
        values[at + half] = both.y;
    }
}
