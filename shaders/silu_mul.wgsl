// out = silu(gate) * up, row by row.
// gate_up: (rows, 2 * N) floats, gate's first; out: (rows, N) floats. One invocation an element; workgroups (N / 64, rows).

override N: u32;

@group(0) @binding(0) var<storage, read> gate_up: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= N) { return; }
    let gate = gate_up[id.y * 2u * N + id.x];
    out[id.y * N + id.x] = gate / (1.0 + exp(-gate)) * gate_up[id.y * 2u * N + N + id.x];
}
