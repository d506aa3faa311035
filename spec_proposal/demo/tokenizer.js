/**
 * Byte-level BPE, for the tokenizer.json that Python's `tokenizers` writes: text to ids and back. Of what such a file can say it
 * understands what SmolLM2 and models like it use, and refuses the rest.
 */

/** White space as Unicode has it; JavaScript's own \s counts U+FEFF and leaves U+0085 out. */
const SPACE = '\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
/** How GPT-2 cuts text up before the merges. */
const WORDS = new RegExp(
  `'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^${SPACE}\\p{L}\\p{N}]+|[${SPACE}]+(?![^${SPACE}])|[${SPACE}]+`,
  'gu',
);
const DIGITS = /\p{N}|\P{N}+/gu;
/** Two ids in one number, to look up a merge. */
const PAIR = 2 ** 21;

export class Tokenizer {
  #ids;
  #merges;
  #cuts;
  #special;
  #specials;
  #bytes;

  /**
   * @param {any} description a parsed tokenizer.json
   * @throws {Error} it asks for something that is not supported
   */
  constructor({ model, pre_tokenizer: cut, normalizer, added_tokens: added }) {
    need(model.type === 'BPE' && !model.byte_fallback && !model.ignore_merges && !normalizer, 'it is no plain byte-level BPE');
    this.#cuts = cutsOf(cut);
    this.#ids = new Map(Object.entries(model.vocab));
    this.#merges = mergesOf(model.merges, this.#ids);
    this.#special = new Map(added.map((/** @type {any} */ each) => [each.content, each.id]));
    this.#specials = anyOf([...this.#special.keys()]);
    this.#bytes = bytesOf(this.#ids, this.#special);
  }

  /**
   * The ids of a text; special tokens such as `<|im_end|>` are recognised in it.
   * @param {string} text
   * @returns {number[]}
   */
  encode(text) {
    const parts = this.#specials ? text.split(this.#specials) : [text];
    return parts.flatMap((part, n) => (n % 2 ? [/** @type {number} */ (this.#special.get(part))] : this.#plain(part)));
  }

  /**
   * A function from one id after another to the text that it adds; a character is held back until it is whole. Without an id it gives
   * what is left.
   * @returns {(id?: number) => string}
   */
  decoder() {
    const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
    return (id) => (id === undefined ? utf8.decode() : utf8.decode(this.#bytes.get(id) ?? new Uint8Array(), { stream: true }));
  }

  /** @param {number[]} ids */
  decode(ids) {
    const next = this.decoder();
    return ids.map((id) => next(id)).join('') + next();
  }

  /** @param {string} text */
  #plain(text) {
    let pieces = [text];
    for (const pattern of this.#cuts) pieces = pieces.flatMap((piece) => piece.match(pattern) ?? []);
    return pieces.flatMap((piece) => this.#merged(piece));
  }

  /**
   * Joins the neighbours that have the first of all merges, again and again.
   * @param {string} piece
   */
  #merged(piece) {
    const found = /** @type {number[]} */ ([]);
    for (const byte of new TextEncoder().encode(piece)) {
      const id = this.#ids.get(CHARACTERS[byte]);
      if (id !== undefined) found.push(id); // a byte that the vocabulary lacks is left out, as in Python
    }
    for (;;) {
      let best = null;
      for (let n = 0; n + 1 < found.length; n++) {
        const merge = this.#merges.get(found[n] * PAIR + found[n + 1]);
        if (merge && (!best || merge.rank < best.rank)) best = { ...merge, n };
      }
      if (!best) return found;
      found.splice(best.n, 2, best.id);
    }
  }
}

/** The characters that stand for bytes in the vocabulary: printable ones for themselves, the others from U+0100 on. */
const CHARACTERS = (() => {
  const printable = (/** @type {number} */ byte) => (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++));
})();

/** @param {any} cut */
function cutsOf(cut) {
  const steps = cut?.type === 'Sequence' ? cut.pretokenizers : [cut];
  const patterns = [];
  for (const step of steps) {
    if (step?.type === 'Digits' && step.individual_digits) patterns.push(DIGITS);
    else if (step?.type === 'ByteLevel' && !step.add_prefix_space) patterns.push(...(step.use_regex ? [WORDS] : []));
    else need(false, `it cuts text up by ${step?.type}`);
  }
  return patterns;
}

/**
 * @param {(string | [string, string])[]} merges
 * @param {Map<string, number>} ids
 * @returns {Map<number, { rank: number, id: number }>}
 */
function mergesOf(merges, ids) {
  return new Map(
    merges.map((merge, rank) => {
      const [left, right] = typeof merge === 'string' ? merge.split(' ') : merge;
      const [a, b, id] = [left, right, left + right].map((each) => ids.get(each));
      if (a === undefined || b === undefined || id === undefined) throw new Error(`tokenizer: the merge of "${left}" and "${right}" is in no vocabulary`);
      return [a * PAIR + b, { rank, id }];
    }),
  );
}

/**
 * @param {Map<string, number>} ids
 * @param {Map<string, number>} special
 */
function bytesOf(ids, special) {
  const byteOf = new Map(CHARACTERS.map((character, byte) => [character, byte]));
  const found = new Map();
  for (const [token, id] of ids) found.set(id, Uint8Array.from([...token].flatMap((each) => byteOf.get(each) ?? [])));
  for (const [token, id] of special) found.set(id, new TextEncoder().encode(token));
  return found;
}

/**
 * A pattern for any of the words, the longest first; what it finds stays in the result of split().
 * @param {string[]} words
 */
function anyOf(words) {
  const longest = [...words].sort((a, b) => b.length - a.length);
  return words.length ? new RegExp(`(${longest.map((each) => each.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})`, 'u') : null;
}

/**
 * @param {unknown} condition
 * @param {string} message
 */
function need(condition, message) {
  if (!condition) throw new Error(`tokenizer: ${message}, which this page does not support`);
}
