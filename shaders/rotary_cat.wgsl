// out = angles, then angles again: one for each half of a head.
// angles: N / 2 pairs; out: N = head_dim pairs. One invocation a pair of out.

override N: u32;

@group(0) @binding(0) var<storage, read> angles: array<vec2<f32>>;
@group(0) @binding(1) var<storage, read_write> out: array<vec2<f32>>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= N) { return; }
    out[i] = angles[i % (N / 2u)];
}
