// A lane's share of the products of two rows with the RMS norm of x, all but the factor: (row 0, row 1, squares of x, 0).
// The sum of squares is gathered on the way, so that the norm needs no pass of its own. Four chunks a turn, so that many
// loads are under way; what no lane needs is left out.

override EPS: f32;

fn normed_shares(row: vec2<u32>, c: u32) -> vec4<f32> {
    let first = row_chunk(row.x, c);
    let second = row_chunk(row.y, c);
    let k = 2u * min(c, CHUNKS - 1u);
    let values = input(c);
    let gained = Eight(values.a * gain[k], values.b * gain[k + 1u]);
    return vec4<f32>(dot8(first, gained), dot8(second, gained), dot8(values, values), 0.0);
}

fn normed_products(row: vec2<u32>, lane: u32) -> vec4<f32> {
    var sum = vec4<f32>();
    for (var c = lane; c < CHUNKS; c += 4u * LANES) {
        sum += normed_shares(row, c);
        if (CHUNKS > LANES) { sum += normed_shares(row, c + LANES); }
        if (CHUNKS > 2u * LANES) { sum += normed_shares(row, c + 2u * LANES); }
        if (CHUNKS > 3u * LANES) { sum += normed_shares(row, c + 3u * LANES); }
    }
    return sum;
}

// What the products of two rows come to, from the sums over all lanes.
fn normed(sum: vec4<f32>) -> vec2<f32> {
    return sum.xy * inverseSqrt(sum.z / f32(COLUMNS) + EPS);
}
