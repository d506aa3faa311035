// Scaled dot-product attention over the cache of one position, for GPUs, with the cache split among SPLITS workgroups a
// head: see parts/attend.wgsl; `merge_add` puts the parts together. Few multiprocessors have work then, so workgroups
// behind those read the weights of a later kernel, which brings them into the cache that all share.
// ahead: weights; sink: room for a result that nobody reads. Workgroups HEADS * SPLITS, and any number more, AHEAD * WORKGROUP
// quads each.

const AHEAD = 8u;

@group(0) @binding(5) var<storage, read> ahead: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read_write> sink: array<vec4<u32>>;

fn touch(first: u32) {
    var seen = vec4<u32>();
    for (var k = 0u; k < AHEAD; k++) { seen |= ahead[min(first + k * WORKGROUP, arrayLength(&ahead) - 1u)]; }
    // Never so, but no compiler knows.
    if (all(seen == vec4<u32>(1u, 2u, 4u, 8u))) { sink[0] = seen; }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3<u32>) {
    if (group.x >= HEADS * SPLITS) {
        touch((group.x - HEADS * SPLITS) * AHEAD * WORKGROUP + i);
        return;
    }
    attend(group.x % HEADS, 0u, group.x / HEADS, i);
}
