// How workgroups walk the output matrix: LANES invocations, a team, do four rows a turn with `staged`, the whole input in
// workgroup memory, and hand each logit to `put`.

fn staged_input(c: u32) -> Eight {
    let there = c < CHUNKS;
    let k = 2u * min(c, CHUNKS - 1u);
    return Eight(select(vec4<f32>(), staged[k], there), select(vec4<f32>(), staged[k + 1u], there));
}

fn four_shares(row: u32, c: u32) -> vec4<f32> {
    let last = ROWS - 1u;
    let w0 = row_chunk(row, c);
    let w1 = row_chunk(min(row + 1u, last), c);
    let w2 = row_chunk(min(row + 2u, last), c);
    let w3 = row_chunk(min(row + 3u, last), c);
    let values = staged_input(c);
    return vec4<f32>(dot8(w0, values), dot8(w1, values), dot8(w2, values), dot8(w3, values));
}

fn walk(team: u32, teams: u32, i: u32) {
    let lane = i % LANES;
    for (var turn = 0u; turn < (ROWS + 3u) / 4u; turn += teams) {
        let row = (turn + team) * 4u;
        let present = min(row, ROWS - 1u);
        var share = vec4<f32>();
        for (var c = lane; c < CHUNKS; c += 4u * LANES) {
            share += four_shares(present, c);
            if (CHUNKS > LANES) { share += four_shares(present, c + LANES); }
            if (CHUNKS > 2u * LANES) { share += four_shares(present, c + 2u * LANES); }
            if (CHUNKS > 3u * LANES) { share += four_shares(present, c + 3u * LANES); }
        }
        let sum = sum_lanes(share, i);
        if (lane == 0u) {
            if (row < ROWS) { put(row, sum.x); }
            if (row + 1u < ROWS) { put(row + 1u, sum.y); }
            if (row + 2u < ROWS) { put(row + 2u, sum.z); }
            if (row + 3u < ROWS) { put(row + 3u, sum.w); }
        }
    }
}
