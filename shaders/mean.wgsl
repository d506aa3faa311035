// out[0] = the mean of x, for GPUs: one workgroup adds the N floats up.
// x: N floats, N a multiple of 4; out: 1 float.

override N: u32;

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) i: u32) {
    var sum = vec4<f32>();
    for (var k = i; k < N / 4u; k += WORKGROUP) { sum += x[k]; }
    let mean = sum_all(dot(sum, vec4<f32>(1.0)), i) / f32(N);
    if (i == 0u) { out[0] = mean; }
}
