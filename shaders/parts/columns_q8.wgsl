// A matrix of 8-bit numbers in blocks of 32 columns, STRIDE rows each, in quads of 4 neighbouring rows. A block is, for
// each quad, 9 vec4<u32>, a component a row: first the f16 scales, then 4 signed columns each. A value is number * scale.

@group(0) @binding(0) var<storage, read> w: array<vec4<u32>>;

fn scales(raw: vec4<u32>) -> vec4<f32> {
    return vec4<f32>(unpack2x16float(raw.x).x, unpack2x16float(raw.y).x, unpack2x16float(raw.z).x, unpack2x16float(raw.w).x);
}

// The signed number in byte `byte` of each row.
fn numbers(raw: vec4<u32>, byte: u32) -> vec4<f32> {
    return vec4<f32>(bitcast<vec4<i32>>(raw << vec4<u32>(24u - 8u * byte)) >> vec4<u32>(24u));
}

fn block_of(k: u32, quad: u32) -> u32 {
    return (k / 32u * (STRIDE / 4u) + quad) * 9u;
}

fn number(k: u32, quad: u32) -> vec4<f32> {
    return numbers(w[block_of(k, quad) + 1u + k % 32u / 4u], k % 4u);
}

fn scale_of(k: u32, quad: u32) -> vec4<f32> {
    return scales(w[block_of(k, quad)]);
}

fn minimum_of(k: u32, quad: u32) -> vec4<f32> {
    return vec4<f32>();
}

fn column(k: u32, quad: u32) -> vec4<f32> {
    return number(k, quad) * scale_of(k, quad);
}

fn product(quad: u32) -> vec4<f32> {
    var sum = vec4<f32>();
    for (var k = 0u; k < COLUMNS; k += 32u) {
        let block = block_of(k, quad);
        var part = vec4<f32>();
        for (var j = 0u; j < 32u; j += 4u) {
            let raw = w[block + 1u + j / 4u];
            part += numbers(raw, 0u) * x[k + j] + numbers(raw, 1u) * x[k + j + 1u];
            part += numbers(raw, 2u) * x[k + j + 2u] + numbers(raw, 3u) * x[k + j + 3u];
        }
        sum += part * scales(w[block]);
    }
    return sum;
}
