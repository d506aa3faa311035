// A dispatch that does nothing, but bind a buffer and run.

@group(0) @binding(0) var<storage, read> x: array<u32>;

@compute @workgroup_size(64)
fn main() {
    _ = x[0];
}
