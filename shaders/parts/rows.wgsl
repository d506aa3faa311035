// What the kernels for GPUs share that multiply rows of a matrix: LANES neighbouring invocations share a row.
// A row is CHUNKS chunks of 8 columns; x has as many elements, filled up with zeros.

override COLUMNS: u32;
override CHUNKS: u32 = (COLUMNS + 7u) / 8u;

struct Eight { a: vec4<f32>, b: vec4<f32> }

fn dot8(values: Eight, other: Eight) -> f32 {
    return dot(values.a, other.a) + dot(values.b, other.b);
}

// Chunk c of x, zeros behind its end.
fn input(c: u32) -> Eight {
    let there = c < CHUNKS;
    let k = 2u * min(c, CHUNKS - 1u);
    return Eight(select(vec4<f32>(), x[k], there), select(vec4<f32>(), x[k + 1u], there));
}

fn row_chunk(row: u32, c: u32) -> Eight {
    return eight(row * CHUNKS + min(c, CHUNKS - 1u));
}
