// How LANES neighbouring invocations, a team, multiply TEAM_ROWS rows of a matrix, 1, 2 or 4, with x. The kernel offers
// `offset_of`, what is added to a row's product, which is read before the product is known, and `put`, which takes the
// result.

override TEAM_ROWS: u32 = 1u;

fn multiply(team: u32, first: u32, rows: u32, i: u32) {
    let lane = i % LANES;
    let row = team * TEAM_ROWS;
    let last = rows - 1u;
    let mine = vec4<u32>(min(row, last), min(row + 1u, last), min(row + 2u, last), min(row + 3u, last));
    var result = vec4<f32>();
    if (row < rows) { result.x = offset_of(row); }
    if (TEAM_ROWS > 1u && row + 1u < rows) { result.y = offset_of(row + 1u); }
    if (TEAM_ROWS > 2u && row + 2u < rows) { result.z = offset_of(row + 2u); }
    if (TEAM_ROWS > 2u && row + 3u < rows) { result.w = offset_of(row + 3u); }
    if (TEAM_ROWS == 1u) {
        result.x += sum_lanes1(product(first + mine.x, lane), i);
    } else if (TEAM_ROWS == 2u) {
        result += sum_lanes(vec4<f32>(products(first + mine.xy, lane), 0.0, 0.0), i);
    } else {
        result += sum_lanes(products_of_four(first + mine, lane), i);
    }
    if (lane != 0u) { return; }
    if (row < rows) { put(row, result.x); }
    if (TEAM_ROWS > 1u && row + 1u < rows) { put(row + 1u, result.y); }
    if (TEAM_ROWS > 2u && row + 2u < rows) { put(row + 2u, result.z); }
    if (TEAM_ROWS > 2u && row + 3u < rows) { put(row + 3u, result.w); }
}

// The team of an invocation, where the workgroups may form a grid of two dimensions.
fn team_of(group: vec3<u32>, groups: vec3<u32>, i: u32) -> u32 {
    return (group.y * groups.x + group.x) * (WORKGROUP / LANES) + i / LANES;
}
