// A matrix of f16, column after column, STRIDE rows each, in quads of 4 neighbouring rows: two u32.

@group(0) @binding(0) var<storage, read> w: array<vec2<u32>>;

fn column(k: u32, quad: u32) -> vec4<f32> {
    let raw = w[k * (STRIDE / 4u) + quad];
    return vec4<f32>(unpack2x16float(raw.x), unpack2x16float(raw.y));
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
