// out[0] = x[0] + EPS.
// x, out: 1 float.

override EPS: f32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(1)
fn main() {
    out[0] = x[0] + EPS;
}
