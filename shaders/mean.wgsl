// out[0] = the mean of x. For GPUs: one workgroup adds the N floats in a tree.
// x: N floats; out: 1 float.

override N: u32;

const LANES = 256u;
var<workgroup> sums: array<f32, LANES>;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32) {
    var sum = 0.0;
    for (var i = lane; i < N; i += LANES) { sum += x[i]; }
    sums[lane] = sum;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (lane < half) { sums[lane] += sums[lane + half]; }
    }
    if (lane == 0u) { out[0] = sums[0] / f32(N); }
}
