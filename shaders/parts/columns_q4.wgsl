// A matrix of 4-bit numbers in blocks of 32 columns, STRIDE rows each, in quads of 4 neighbouring rows. A block is, for
// each quad, 5 vec4<u32>, a component a row: first the f16 pairs (scale, minimum), then 8 columns each.
// A value is number * scale + minimum.

@group(0) @binding(0) var<storage, read> w: array<vec4<u32>>;

fn scales(raw: vec4<u32>) -> vec4<f32> {
    return vec4<f32>(unpack2x16float(raw.x).x, unpack2x16float(raw.y).x, unpack2x16float(raw.z).x, unpack2x16float(raw.w).x);
}

fn block_of(k: u32, quad: u32) -> u32 {
    return (k / 32u * (STRIDE / 4u) + quad) * 5u;
}

fn number(k: u32, quad: u32) -> vec4<f32> {
    let raw = w[block_of(k, quad) + 1u + k % 32u / 8u] >> vec4<u32>(k % 8u * 4u);
    return vec4<f32>(vec4<i32>(raw & vec4<u32>(15u)));
}

fn scale_of(k: u32, quad: u32) -> vec4<f32> {
    return scales(w[block_of(k, quad)]);
}

fn minimum_of(k: u32, quad: u32) -> vec4<f32> {
    return scales(w[block_of(k, quad)] >> vec4<u32>(16u));
}

fn column(k: u32, quad: u32) -> vec4<f32> {
    return number(k, quad) * scale_of(k, quad) + minimum_of(k, quad);
}

fn product(quad: u32) -> vec4<f32> {
    var sum = vec4<f32>();
    for (var k = 0u; k < COLUMNS; k += 32u) {
        let block = block_of(k, quad);
        var numbers = vec4<f32>();
        var inputs = 0.0;
        for (var part = 0u; part < 4u; part++) {
            var raw = w[block + 1u + part];
            for (var j = 0u; j < 8u; j++) {
                let value = x[k + part * 8u + j];
                numbers += vec4<f32>(vec4<i32>(raw & vec4<u32>(15u))) * value;
                inputs += value;
                raw >>= vec4<u32>(4u);
            }
        }
        sum += numbers * scales(w[block]) + inputs * scales(w[block] >> vec4<u32>(16u));
    }
    return sum;
}
