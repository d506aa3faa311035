// The second step of rotate-half: each head of out is its half of `negated`, then the first half of x.
// negated: N / 2 floats; x, out: N = heads * HEAD_DIM floats. One invocation an element of out.

override N: u32;
override HEAD_DIM: u32;

@group(0) @binding(0) var<storage, read> negated: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= N) { return; }
    let half = HEAD_DIM / 2u;
    let head = i / HEAD_DIM;
    let j = i % HEAD_DIM;
    if (j < half) {
        out[i] = negated[head * half + j];
    } else {
        out[i] = x[i - half];
    }
}
