// A matrix of 8-bit numbers, row after row, in blocks of 32 columns: 9 u32, the first with the f16 scale in its lower
// half, each of the others 4 signed numbers, the lowest column in the lowest bits. A value is number * scale.

@group(0) @binding(0) var<storage, read> w: array<u32>;

fn four(raw: u32) -> vec4<f32> {
    return vec4<f32>((vec4<i32>(bitcast<i32>(raw)) << vec4<u32>(24u, 16u, 8u, 0u)) >> vec4<u32>(24u));
}

fn eight(chunk: u32) -> Eight {
    let block = chunk / 4u * 9u;
    let scale = unpack2x16float(w[block]).x;
    let first = block + 1u + chunk % 4u * 2u;
    return Eight(four(w[first]) * scale, four(w[first + 1u]) * scale);
}
