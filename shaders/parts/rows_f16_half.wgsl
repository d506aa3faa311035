// A matrix of f16, row after row, in chunks of 8 columns, for devices that have f16 as a type (shader-f16).

struct HalfEight { a: vec4<f16>, b: vec4<f16> }

@group(0) @binding(0) var<storage, read> w: array<HalfEight>;

fn eight(chunk: u32) -> Eight {
    return Eight(vec4<f32>(w[chunk].a), vec4<f32>(w[chunk].b));
}
