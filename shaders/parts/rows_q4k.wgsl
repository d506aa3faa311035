// A matrix of 4-bit numbers, row after row, in blocks of 256 columns of 8 parts: 37 u32, the first the f16 pair (scale,
// minimum), two with a byte a part that the scale counts, two for the minimum, then 8 numbers each, the lowest column in the
// lowest bits. A value is number * scale * byte - minimum * byte.

@group(0) @binding(0) var<storage, read> w: array<u32>;

fn eight(chunk: u32) -> Eight {
    let block = chunk / 32u * 37u;
    let part = chunk % 32u / 4u;
    let both = unpack2x16float(w[block]);
    let scale = both.x * f32((w[block + 1u + part / 4u] >> (part % 4u * 8u)) & 255u);
    let minimum = both.y * f32((w[block + 3u + part / 4u] >> (part % 4u * 8u)) & 255u);
    let raw = vec4<u32>(w[block + 5u + chunk % 32u]);
    let low = vec4<f32>((raw >> vec4<u32>(0u, 4u, 8u, 12u)) & vec4<u32>(15u));
    let high = vec4<f32>((raw >> vec4<u32>(16u, 20u, 24u, 28u)) & vec4<u32>(15u));
    return Eight(low * scale - minimum, high * scale - minimum);
}
