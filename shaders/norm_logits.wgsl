// logits = W n with n the RMS norm of x, and the first step of greedy sampling, for GPUs. A workgroup norms x once into its
// own memory, walks the matrix, and keeps the largest logit that it has seen.
// W: (ROWS, COLUMNS), row after row; x, gain: COLUMNS floats; logits: floats, written from START on; best: a pair of value
// and index for each workgroup, from pair BEST on. Of equals the first counts.

override ROWS: u32;
override START: u32 = 0u;
override BEST: u32 = 0u;
override EPS: f32;
override QUADS: u32 = 2u * CHUNKS;
override TEAMS: u32 = WORKGROUP / LANES;

struct Best { value: f32, index: u32 }

var<workgroup> staged: array<vec4<f32>, QUADS>;
var<workgroup> best_of_team: array<Best, TEAMS>;
var<private> mine: Best;

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> gain: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> logits: array<f32>;
@group(0) @binding(4) var<storage, read_write> best: array<Best>;

fn put(row: u32, value: f32) {
    logits[START + row] = value;
    if (value > mine.value) { mine = Best(value, START + row); }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
    var squares = 0.0;
    for (var k = i; k < QUADS; k += WORKGROUP) { squares += dot(x[k], x[k]); }
    let factor = inverseSqrt(sum_all(squares, i) / f32(COLUMNS) + EPS);
    for (var k = i; k < QUADS; k += WORKGROUP) { staged[k] = x[k] * gain[k] * factor; }
    workgroupBarrier();

    mine = Best(-3.4e38, START);
    walk(group.x * TEAMS + i / LANES, groups.x * TEAMS, i);
    if (i % LANES == 0u) { best_of_team[i / LANES] = mine; }
    workgroupBarrier();
    if (i != 0u) { return; }
    for (var team = 1u; team < TEAMS; team++) {
        let other = best_of_team[team];
        if (other.value > mine.value || (other.value == mine.value && other.index < mine.index)) { mine = other; }
    }
    best[BEST + group.x] = mine;
}
