// A matrix of 6-bit numbers in blocks of 256 columns of 16 parts, STRIDE rows each, in quads of 4 neighbouring rows. A block
// is, for each quad, 53 vec4<u32>, a component a row: the words of parts/rows_q6k.wgsl. What `number` gives has the part's
// byte in it, since parts are narrower than the 32 columns that share a scale elsewhere.

@group(0) @binding(0) var<storage, read> w: array<vec4<u32>>;

fn scales(raw: vec4<u32>) -> vec4<f32> {
    return vec4<f32>(unpack2x16float(raw.x).x, unpack2x16float(raw.y).x, unpack2x16float(raw.z).x, unpack2x16float(raw.w).x);
}

fn block_of(k: u32, quad: u32) -> u32 {
    return (k / 256u * (STRIDE / 4u) + quad) * 53u;
}

fn byte_of(block: u32, k: u32) -> vec4<f32> {
    let part = k % 256u / 16u;
    return vec4<f32>(bitcast<vec4<i32>>(w[block + 1u + part / 4u] << vec4<u32>(24u - part % 4u * 8u)) >> vec4<u32>(24u));
}

// The numbers from the words of lower and upper bits that hold column k.
fn bare(low: vec4<u32>, high: vec4<u32>, k: u32) -> vec4<f32> {
    let lower = (low >> vec4<u32>(k % 8u * 4u)) & vec4<u32>(15u);
    let upper = (high >> vec4<u32>(k % 16u * 2u)) & vec4<u32>(3u);
    return vec4<f32>(vec4<i32>(lower | (upper << vec4<u32>(4u))) - vec4<i32>(32));
}

fn number(k: u32, quad: u32) -> vec4<f32> {
    let block = block_of(k, quad);
    return bare(w[block + 5u + k % 256u / 8u], w[block + 37u + k % 256u / 16u], k) * byte_of(block, k);
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
    for (var k = 0u; k < COLUMNS; k += 16u) {
        let block = block_of(k, quad);
        let first = block + 5u + k % 256u / 8u;
        let high = w[block + 37u + k % 256u / 16u];
        var numbers = vec4<f32>();
        for (var half = 0u; half < 16u; half += 8u) {
            let low = w[first + half / 8u];
            for (var j = half; j < half + 8u; j++) { numbers += bare(low, high, k + j) * x[k + j]; }
        }
        sum += numbers * byte_of(block, k) * scales(w[block]);
    }
    return sum;
}
