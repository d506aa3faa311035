// y = x W^T + bias, or added to y where ADD is 1, for GPUs: a workgroup does a tile of 64 rows of W for 32 rows of x and
// keeps 32 columns of both in its memory at a time; an invocation does 4 by 2 of them.
// W: (ROWS, COLUMNS), row after row; x: (TOKENS, COLUMNS) floats, COLUMNS a multiple of 4; bias: ROWS floats; y: (TOKENS,
// OUT_WIDTH) floats, written from START on. 256 invocations; workgroups (rows / 64, tokens / 32).

override ROWS: u32;
override TOKENS: u32;
override ADD: u32 = 0u;
override OUT_WIDTH: u32 = ROWS;
override START: u32 = 0u;

const TILE_ROWS = 64u;
const TILE_TOKENS = 32u;
const TILE_COLUMNS = 32u;
// One more than needed, so that neighbouring rows lie in different banks.
const WIDTH = 33u;
var<workgroup> tile_w: array<f32, TILE_ROWS * WIDTH>;
var<workgroup> tile_x: array<f32, TILE_TOKENS * WIDTH>;

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let first_row = group.x * TILE_ROWS;
    let first_token = group.y * TILE_TOKENS;
    // Loading: an invocation brings one chunk of 8 columns of a row, and one quad of a token.
    let load_row = i / 4u;
    let load_token = i / 8u;
    // Computing: rows r, r + 16, r + 32, r + 48 for tokens t and t + 16.
    let r = i % 16u;
    let t = i / 16u;
    var even = vec4<f32>();
    var odd = vec4<f32>();
    for (var k = 0u; k < COLUMNS; k += TILE_COLUMNS) {
        let chunk = k / 8u + i % 4u;
        var values = Eight(vec4<f32>(), vec4<f32>());
        if (first_row + load_row < ROWS && chunk < CHUNKS) { values = row_chunk(first_row + load_row, chunk); }
        let at = load_row * WIDTH + i % 4u * 8u;
        for (var j = 0u; j < 4u; j++) {
            tile_w[at + j] = values.a[j];
            tile_w[at + 4u + j] = values.b[j];
        }
        let quad = k / 4u + i % 8u;
        var input = vec4<f32>();
        if (first_token + load_token < TOKENS && quad < COLUMNS / 4u) {
            input = x[(first_token + load_token) * (COLUMNS / 4u) + quad];
        }
        for (var j = 0u; j < 4u; j++) { tile_x[load_token * WIDTH + i % 8u * 4u + j] = input[j]; }
        workgroupBarrier();
        for (var j = 0u; j < TILE_COLUMNS; j++) {
            let w4 = vec4<f32>(tile_w[r * WIDTH + j], tile_w[(r + 16u) * WIDTH + j],
                               tile_w[(r + 32u) * WIDTH + j], tile_w[(r + 48u) * WIDTH + j]);
            even += w4 * tile_x[t * WIDTH + j];
            odd += w4 * tile_x[(t + 16u) * WIDTH + j];
        }
        workgroupBarrier();
    }
    for (var half = 0u; half < 2u; half++) {
        let token = first_token + t + half * 16u;
        let sums = select(even, odd, half == 1u);
        for (var j = 0u; j < 4u; j++) {
            let row = first_row + r + j * 16u;
            if (token < TOKENS && row < ROWS) {
                let at = token * OUT_WIDTH + START + row;
                if (ADD == 1u) { y[at] += sums[j]; } else { y[at] = sums[j] + bias[row]; }
            }
        }
    }
}
