// A matrix of f16, row after row, in chunks of 8 columns: four u32, each with the lower column in its lower half.

@group(0) @binding(0) var<storage, read> w: array<vec4<u32>>;

fn eight(chunk: u32) -> Eight {
    let raw = w[chunk];
    return Eight(vec4<f32>(unpack2x16float(raw.x), unpack2x16float(raw.y)),
                 vec4<f32>(unpack2x16float(raw.z), unpack2x16float(raw.w)));
}
