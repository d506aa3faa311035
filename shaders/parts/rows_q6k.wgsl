// A matrix of 6-bit numbers, row after row, in blocks of 256 columns of 16 parts: 53 u32, the first with the f16 scale in its
// lower half, four with a signed byte a part, 32 with the lower 4 bits of 8 numbers each, 16 with the upper 2 bits of 16
// numbers each, the lowest column in the lowest bits. A value is (number - 32) * scale * byte.

@group(0) @binding(0) var<storage, read> w: array<u32>;

fn four(low: vec4<u32>, high: vec4<u32>) -> vec4<f32> {
    return vec4<f32>((low & vec4<u32>(15u)) | ((high & vec4<u32>(3u)) << vec4<u32>(4u))) - 32.0;
}

fn eight(chunk: u32) -> Eight {
    let block = chunk / 32u * 53u;
    let inside = chunk % 32u;
    let part = inside / 2u;
    let byte = bitcast<i32>(w[block + 1u + part / 4u] << (24u - part % 4u * 8u)) >> 24u;
    let scale = unpack2x16float(w[block]).x * f32(byte);
    let low = vec4<u32>(w[block + 5u + inside]);
    let high = vec4<u32>(w[block + 37u + part] >> (inside % 2u * 16u));
    return Eight(four(low >> vec4<u32>(0u, 4u, 8u, 12u), high >> vec4<u32>(0u, 2u, 4u, 6u)) * scale,
                 four(low >> vec4<u32>(16u, 20u, 24u, 28u), high >> vec4<u32>(8u, 10u, 12u, 14u)) * scale);
}
