// Scaled dot-product attention over the cache, for GPUs, a workgroup a head and row: see parts/attend.wgsl.
// Workgroups (HEADS, rows).

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3<u32>) {
    attend(group.x, group.y, 0u, i);
}
