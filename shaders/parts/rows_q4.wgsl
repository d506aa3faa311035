// A matrix of 4-bit numbers, row after row, in blocks of 32 columns: 5 u32, the first the f16 pair (scale, minimum), each
// of the others 8 numbers, the lowest column in the lowest bits. A value is number * scale + minimum.

@group(0) @binding(0) var<storage, read> w: array<u32>;

fn eight(chunk: u32) -> Eight {
    let block = chunk / 4u * 5u;
    let scale = unpack2x16float(w[block]);
    let raw = vec4<u32>(w[block + 1u + chunk % 4u]);
    let low = vec4<f32>((raw >> vec4<u32>(0u, 4u, 8u, 12u)) & vec4<u32>(15u));
    let high = vec4<f32>((raw >> vec4<u32>(16u, 20u, 24u, 28u)) & vec4<u32>(15u));
    return Eight(low * scale.x + scale.y, high * scale.x + scale.y);
}
