// A lane's share of the products of one, two or four rows with x. Eight, four or two chunks a turn, so that many loads are under
// way; what no lane needs is left out.

fn share(row: u32, c: u32) -> f32 {
    return dot8(row_chunk(row, c), input(c));
}

fn product(row: u32, lane: u32) -> f32 {
    var sum = 0.0;
    for (var c = lane; c < CHUNKS; c += 8u * LANES) {
        sum += share(row, c);
        if (CHUNKS > LANES) { sum += share(row, c + LANES); }
        if (CHUNKS > 2u * LANES) { sum += share(row, c + 2u * LANES); }
        if (CHUNKS > 3u * LANES) { sum += share(row, c + 3u * LANES); }
        if (CHUNKS > 4u * LANES) { sum += share(row, c + 4u * LANES); }
        if (CHUNKS > 5u * LANES) { sum += share(row, c + 5u * LANES); }
        if (CHUNKS > 6u * LANES) { sum += share(row, c + 6u * LANES); }
        if (CHUNKS > 7u * LANES) { sum += share(row, c + 7u * LANES); }
    }
    return sum;
}

fn shares(row: vec2<u32>, c: u32) -> vec2<f32> {
    let first = row_chunk(row.x, c);
    let second = row_chunk(row.y, c);
    let values = input(c);
    return vec2<f32>(dot8(first, values), dot8(second, values));
}

fn products(row: vec2<u32>, lane: u32) -> vec2<f32> {
    var sum = vec2<f32>();
    for (var c = lane; c < CHUNKS; c += 4u * LANES) {
        sum += shares(row, c);
        if (CHUNKS > LANES) { sum += shares(row, c + LANES); }
        if (CHUNKS > 2u * LANES) { sum += shares(row, c + 2u * LANES); }
        if (CHUNKS > 3u * LANES) { sum += shares(row, c + 3u * LANES); }
    }
    return sum;
}

fn shares_of_four(row: vec4<u32>, c: u32) -> vec4<f32> {
    let w0 = row_chunk(row.x, c);
    let w1 = row_chunk(row.y, c);
    let w2 = row_chunk(row.z, c);
    let w3 = row_chunk(row.w, c);
    let values = input(c);
    return vec4<f32>(dot8(w0, values), dot8(w1, values), dot8(w2, values), dot8(w3, values));
}

fn products_of_four(row: vec4<u32>, lane: u32) -> vec4<f32> {
    var sum = vec4<f32>();
    for (var c = lane; c < CHUNKS; c += 2u * LANES) {
        sum += shares_of_four(row, c);
        if (CHUNKS > LANES) { sum += shares_of_four(row, c + LANES); }
    }
    return sum;
}
