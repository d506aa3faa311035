// Sums over LANES neighbouring invocations and over the workgroup, by subgroups of SUBGROUP invocations and, where that
// is not enough, workgroup memory. Every invocation of the workgroup must call, and gets the result. After
// sum_all and max_all a barrier is due before the next call of either. i: local_invocation_index; invocation i is number i % SUBGROUP of its subgroup (the device is tested for that).

override WORKGROUP: u32 = 128u;
override LANES: u32 = 32u;
override SUBGROUP: u32 = 32u;
override SUBGROUPS: u32 = (WORKGROUP + SUBGROUP - 1u) / SUBGROUP;

var<workgroup> sums: array<vec4<f32>, SUBGROUPS>;

fn sum_lanes(value: vec4<f32>, i: u32) -> vec4<f32> {
    if (LANES <= SUBGROUP) {
        var sum = value;
        if (LANES > 64u) { sum += subgroupShuffleXor(sum, 64u); }
        if (LANES > 32u) { sum += subgroupShuffleXor(sum, 32u); }
        if (LANES > 16u) { sum += subgroupShuffleXor(sum, 16u); }
        if (LANES > 8u) { sum += subgroupShuffleXor(sum, 8u); }
        if (LANES > 4u) { sum += subgroupShuffleXor(sum, 4u); }
        if (LANES > 2u) { sum += subgroupShuffleXor(sum, 2u); }
        if (LANES > 1u) { sum += subgroupShuffleXor(sum, 1u); }
        return sum;
    }
    let sum = subgroupAdd(value);
    if (i % SUBGROUP == 0u) { sums[i / SUBGROUP] = sum; }
    workgroupBarrier();
    // Straight-line, so that the reads are under way together.
    let first = i / LANES * (LANES / SUBGROUP);
    var result = sums[first];
    if (LANES > SUBGROUP) { result += sums[first + 1u]; }
    if (LANES > 2u * SUBGROUP) { result += sums[first + 2u] + sums[first + 3u]; }
    for (var k = 4u; k < LANES / SUBGROUP; k++) { result += sums[first + k]; }
    workgroupBarrier();
    return result;
}

fn sum_lanes1(value: f32, i: u32) -> f32 {
    if (LANES <= SUBGROUP) {
        var sum = value;
        if (LANES > 64u) { sum += subgroupShuffleXor(sum, 64u); }
        if (LANES > 32u) { sum += subgroupShuffleXor(sum, 32u); }
        if (LANES > 16u) { sum += subgroupShuffleXor(sum, 16u); }
        if (LANES > 8u) { sum += subgroupShuffleXor(sum, 8u); }
        if (LANES > 4u) { sum += subgroupShuffleXor(sum, 4u); }
        if (LANES > 2u) { sum += subgroupShuffleXor(sum, 2u); }
        if (LANES > 1u) { sum += subgroupShuffleXor(sum, 1u); }
        return sum;
    }
    let sum = subgroupAdd(value);
    if (i % SUBGROUP == 0u) { sums[i / SUBGROUP].x = sum; }
    workgroupBarrier();
    let first = i / LANES * (LANES / SUBGROUP);
    var result = sums[first].x;
    if (LANES > SUBGROUP) { result += sums[first + 1u].x; }
    if (LANES > 2u * SUBGROUP) { result += sums[first + 2u].x + sums[first + 3u].x; }
    for (var k = 4u; k < LANES / SUBGROUP; k++) { result += sums[first + k].x; }
    workgroupBarrier();
    return result;
}

fn sum_all(value: f32, i: u32) -> f32 {
    let sum = subgroupAdd(value);
    if (i % SUBGROUP == 0u) { sums[i / SUBGROUP].x = sum; }
    workgroupBarrier();
    var share = 0.0;
    for (var k = i % SUBGROUP; k < SUBGROUPS; k += SUBGROUP) { share += sums[k].x; }
    return subgroupAdd(share);
}

fn max_all(value: f32, i: u32) -> f32 {
    let largest = subgroupMax(value);
    if (i % SUBGROUP == 0u) { sums[i / SUBGROUP].x = largest; }
    workgroupBarrier();
    var share = -3.4e38;
    for (var k = i % SUBGROUP; k < SUBGROUPS; k += SUBGROUP) { share = max(share, sums[k].x); }
    return subgroupMax(share);
}
