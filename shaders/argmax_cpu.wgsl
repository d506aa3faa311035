// The first step of greedy sampling, for CPU adapters: the largest of each of PARTS interleaved parts of the logits. Of
// equals the first counts.
// logits: (rows, STRIDE) floats, of which N count; best: (rows, PARTS) pairs of value and index. One invocation a part.

override N: u32;
override PARTS: u32;
override STRIDE: u32 = N;

struct Best { value: f32, index: u32 }

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read_write> best: array<Best>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= PARTS) { return; }
    let row = id.y * STRIDE;
    var mine = Best(-3.4e38, min(id.x, N - 1u));
    for (var i = id.x; i < N; i += PARTS) {
        if (logits[row + i] > mine.value) { mine = Best(logits[row + i], i); }
    }
    best[id.y * PARTS + id.x] = mine;
}
