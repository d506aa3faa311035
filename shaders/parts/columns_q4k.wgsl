// A matrix of 4-bit numbers in blocks of 256 columns of 8 parts, STRIDE rows each, in quads of 4 neighbouring rows. A block
// is, for each quad, 37 vec4<u32>, a component a row: the words of parts/rows_q4k.wgsl.

@group(0) @binding(0) var<storage, read> w: array<vec4<u32>>;

fn scales(raw: vec4<u32>) -> vec4<f32> {
    return vec4<f32>(unpack2x16float(raw.x).x, unpack2x16float(raw.y).x, unpack2x16float(raw.z).x, unpack2x16float(raw.w).x);
}

fn block_of(k: u32, quad: u32) -> u32 {
    return (k / 256u * (STRIDE / 4u) + quad) * 37u;
}

// The byte of column k's part, from the two words at `at`.
fn byte_of(at: u32, k: u32) -> vec4<f32> {
    let part = k % 256u / 32u;
    return vec4<f32>(vec4<i32>((w[at + part / 4u] >> vec4<u32>(part % 4u * 8u)) & vec4<u32>(255u)));
}

fn number(k: u32, quad: u32) -> vec4<f32> {
    let raw = w[block_of(k, quad) + 5u + k % 256u / 8u] >> vec4<u32>(k % 8u * 4u);
    return vec4<f32>(vec4<i32>(raw & vec4<u32>(15u)));
}

fn scale_of(k: u32, quad: u32) -> vec4<f32> {
    let block = block_of(k, quad);
    return scales(w[block]) * byte_of(block + 1u, k);
}

fn minimum_of(k: u32, quad: u32) -> vec4<f32> {
    let block = block_of(k, quad);
    return -scales(w[block] >> vec4<u32>(16u)) * byte_of(block + 3u, k);
}

fn column(k: u32, quad: u32) -> vec4<f32> {
    return number(k, quad) * scale_of(k, quad) + minimum_of(k, quad);
}

fn product(quad: u32) -> vec4<f32> {
    var sum = vec4<f32>();
    for (var k = 0u; k < COLUMNS; k += 32u) {
        let first = block_of(k, quad) + 5u + k % 256u / 8u;
        var numbers = vec4<f32>();
        var inputs = 0.0;
        for (var part = 0u; part < 4u; part++) {
            var raw = w[first + part];
            for (var j = 0u; j < 8u; j++) {
                let value = x[k + part * 8u + j];
                numbers += vec4<f32>(vec4<i32>(raw & vec4<u32>(15u))) * value;
                inputs += value;
                raw >>= vec4<u32>(4u);
            }
        }
        sum += numbers * scale_of(k, quad) + inputs * minimum_of(k, quad);
    }
    return sum;
}
