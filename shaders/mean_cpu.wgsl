// out[0] = the mean of x. For CPU adapters, where a barrier costs more than the sum: one invocation adds the N floats
// into four running sums.
// x: N floats, N a multiple of 4; out: 1 float.

override N: u32;

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(1)
fn main() {
    var sum = vec4<f32>();
    for (var i = 0u; i < N / 4u; i++) { sum += x[i]; }
    out[0] = dot(sum, vec4<f32>(1.0)) / f32(N);
}
