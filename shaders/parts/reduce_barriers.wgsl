// Sums over LANES neighbouring invocations and over the workgroup, in a tree in workgroup memory. For devices without
// subgroups. Every invocation of the workgroup must call, and gets the result. After sum_all
// and max_all a barrier is due before the next call of either. i: local_invocation_index.

override WORKGROUP: u32 = 128u;
override LANES: u32 = 32u;

var<workgroup> tree: array<vec4<f32>, WORKGROUP>;

fn sum_lanes(value: vec4<f32>, i: u32) -> vec4<f32> {
    tree[i] = value;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (i % LANES < half) { tree[i] += tree[i + half]; }
    }
    workgroupBarrier();
    let result = tree[i - i % LANES];
    workgroupBarrier();
    return result;
}

fn sum_lanes1(value: f32, i: u32) -> f32 {
    return sum_lanes(vec4<f32>(value, 0.0, 0.0, 0.0), i).x;
}

fn sum_all(value: f32, i: u32) -> f32 {
    tree[i].x = value;
    for (var half = WORKGROUP / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (i < half) { tree[i].x += tree[i + half].x; }
    }
    workgroupBarrier();
    return tree[0].x;
}

fn max_all(value: f32, i: u32) -> f32 {
    tree[i].x = value;
    for (var half = WORKGROUP / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (i < half) { tree[i].x = max(tree[i].x, tree[i + half].x); }
    }
    workgroupBarrier();
    return tree[0].x;
}
