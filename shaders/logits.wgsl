// logits = W x, for GPUs. A workgroup takes x into its own memory and walks the matrix.
// W: (ROWS, COLUMNS), row after row; x: COLUMNS floats; logits: floats, written from START on.

override ROWS: u32;
override START: u32 = 0u;
override QUADS: u32 = 2u * CHUNKS;
override TEAMS: u32 = WORKGROUP / LANES;

var<workgroup> staged: array<vec4<f32>, QUADS>;

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> logits: array<f32>;

fn put(row: u32, value: f32) {
    logits[START + row] = value;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
    for (var k = i; k < QUADS; k += WORKGROUP) { staged[k] = x[k]; }
    workgroupBarrier();
    walk(group.x * TEAMS + i / LANES, groups.x * TEAMS, i);
}
