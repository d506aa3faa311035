// Whose rows the rows of a batch are: neighbouring positions of one text, or each that of a text of its own, TEXTS of them,
// which have a state each. The kernel binds them as `state`.

override TEXTS: u32 = 1u;

struct State {
    position: u32, prompt_length: u32, token: u32, stopped: u32, random: u32, unused0: u32, unused1: u32, unused2: u32,
}

fn text_of(row: u32) -> u32 {
    return select(0u, row, TEXTS > 1u);
}

fn position_of(row: u32) -> u32 {
    return state[text_of(row)].position + row - text_of(row);
}
