// The first step of rotate-half: out[head][j] = -x[head][HEAD_DIM / 2 + j].
// x: heads * HEAD_DIM floats; out: N = heads * HEAD_DIM / 2 floats. One invocation an element of out.

override N: u32;
override HEAD_DIM: u32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= N) { return; }
    let half = HEAD_DIM / 2u;
    out[i] = -x[(i / half) * HEAD_DIM + half + i % half];
}
