// out = SCALE * cos(angles) where PART is 0, SCALE * sin(angles) where it is 1.
// angles: N = head_dim pairs (cos, sin); out: N floats. One invocation an element.

override N: u32;
override PART: u32;
override SCALE: f32 = 1.0;

@group(0) @binding(0) var<storage, read> angles: array<vec2<f32>>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= N) { return; }
    out[i] = SCALE * angles[i][PART];
}
