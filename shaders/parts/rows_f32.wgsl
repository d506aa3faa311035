// A matrix of f32, row after row, in chunks of 8 columns.

@group(0) @binding(0) var<storage, read> w: array<vec4<f32>>;

fn eight(chunk: u32) -> Eight {
    return Eight(w[2u * chunk], w[2u * chunk + 1u]);
}
