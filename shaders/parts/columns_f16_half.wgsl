// A matrix of f16, column after column, STRIDE rows each, in quads of 4 neighbouring rows, for devices that have f16 as a
// type (shader-f16).

@group(0) @binding(0) var<storage, read> w: array<vec4<f16>>;

fn column(k: u32, quad: u32) -> vec4<f32> {
    return vec4<f32>(w[k * (STRIDE / 4u) + quad]);
}

fn number(k: u32, quad: u32) -> vec4<f32> {
    return column(k, quad);
}

fn scale_of(k: u32, quad: u32) -> vec4<f32> {
    return vec4<f32>(1.0);
}

fn minimum_of(k: u32, quad: u32) -> vec4<f32> {
    return vec4<f32>();
}

fn product(quad: u32) -> vec4<f32> {
    var sum = vec4<f32>();
    for (var k = 0u; k < COLUMNS; k++) { sum += column(k, quad) * x[k]; }
    return sum;
}
