// y = W x, for CPU adapters: rows FIRST to FIRST + ROWS of W, written from row START on.
// W: (COLUMNS, STRIDE), column after column; x: COLUMNS floats; y: floats. FIRST, ROWS and START are multiples of 4.
// Small workgroups, so that the narrow matrices still keep every core busy.

override ROWS: u32;
override FIRST: u32 = 0u;
override START: u32 = 0u;

@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<f32>>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= ROWS / 4u) { return; }
    y[START / 4u + id.x] = product(FIRST / 4u + id.x);
}
