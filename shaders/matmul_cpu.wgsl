// y = x W^T + bias, or added to y where ADD is 1, for CPU adapters: an invocation does 4 neighbouring rows of W, a quad, for
// 8 rows of x, so that each weight is read once for the 8.
// W: (COLUMNS, STRIDE), column after column; x: (TOKENS, COLUMNS) floats; bias: STRIDE floats; y: (TOKENS, OUT_WIDTH) floats, written
// from START on. x has rows up to a multiple of 8. Workgroups (quads / 16, TOKENS / 8).

override TOKENS: u32;
override ADD: u32 = 0u;
override OUT_WIDTH: u32 = STRIDE;
override START: u32 = 0u;

@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4<f32>>;

fn put(token: u32, quad: u32, sum: vec4<f32>) {
    let at = token * (OUT_WIDTH / 4u) + START / 4u + quad;
    if (token >= TOKENS) { return; }
    if (ADD == 1u) { y[at] += sum; } else { y[at] = sum + bias[quad]; }
}

@compute @workgroup_size(16)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let quad = id.x;
    let token = id.y * 8u;
    if (quad >= STRIDE / 4u) { return; }
    let from_x = token * COLUMNS;
    // Eight sums of each block before its scale, and the sums of the inputs for its minimum.
    var s0 = vec4<f32>();
    var s1 = vec4<f32>();
    var s2 = vec4<f32>();
    var s3 = vec4<f32>();
    var s4 = vec4<f32>();
    var s5 = vec4<f32>();
    var s6 = vec4<f32>();
    var s7 = vec4<f32>();
    for (var start = 0u; start < COLUMNS; start += 32u) {
        // Not known before run time: unrolled, the loops take a software driver half a minute to compile.
        let end = min(start + 32u, COLUMNS) + (token >> 31u);
        var p0 = vec4<f32>();
        var p1 = vec4<f32>();
        var p2 = vec4<f32>();
        var p3 = vec4<f32>();
        var p4 = vec4<f32>();
        var p5 = vec4<f32>();
        var p6 = vec4<f32>();
        var p7 = vec4<f32>();
        var low = vec4<f32>();
        var high = vec4<f32>();
        for (var k = start; k < end; k++) {
            let numbers = number(k, quad);
            let a = vec4<f32>(x[from_x + k], x[from_x + COLUMNS + k], x[from_x + 2u * COLUMNS + k], x[from_x + 3u * COLUMNS + k]);
            let b = vec4<f32>(x[from_x + 4u * COLUMNS + k], x[from_x + 5u * COLUMNS + k], x[from_x + 6u * COLUMNS + k],
                              x[from_x + 7u * COLUMNS + k]);
            low += a;
            high += b;
            p0 += numbers * a.x;
            p1 += numbers * a.y;
            p2 += numbers * a.z;
            p3 += numbers * a.w;
            p4 += numbers * b.x;
            p5 += numbers * b.y;
            p6 += numbers * b.z;
            p7 += numbers * b.w;
        }
        let scale = scale_of(start, quad);
        let minimum = minimum_of(start, quad);
        s0 += p0 * scale + low.x * minimum;
        s1 += p1 * scale + low.y * minimum;
        s2 += p2 * scale + low.z * minimum;
        s3 += p3 * scale + low.w * minimum;
        s4 += p4 * scale + high.x * minimum;
        s5 += p5 * scale + high.y * minimum;
        s6 += p6 * scale + high.z * minimum;
        s7 += p7 * scale + high.w * minimum;
    }
    put(token, quad, s0);
    put(token + 1u, quad, s1);
    put(token + 2u, quad, s2);
    put(token + 3u, quad, s3);
    put(token + 4u, quad, s4);
    put(token + 5u, quad, s5);
    put(token + 6u, quad, s6);
    put(token + 7u, quad, s7);
}
