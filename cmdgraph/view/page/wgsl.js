// WGSL with its words in colour: enough to read by, no compiler.

const WORDS = new Set(
  "fn let var const override struct return if else for while loop break continue continuing switch case default discard enable requires alias true false diagnostic const_assert".split(" "),
);
const TOKENS = /(\/\/[^\n]*|\/\*[\s\S]*?\*\/)|(@[A-Za-z_]+)|\b(0[xX][0-9a-fA-F]+[iu]?|\d[\w.]*)\b|\b([A-Za-z_]\w*)\b/g;
const TYPES = /^(f32|f16|i32|u32|bool|vec[234]\w?|mat\dx\d\w?|array|atomic|ptr|sampler|texture_\w+|storage|uniform|workgroup|private|function|read|write|read_write|immediate)$/;

function highlighted(code) {
  const block = document.createElement("pre");
  block.className = "code";
  let at = 0;
  const put = (text, kind) => {
    if (!text) return;
    if (!kind) return block.append(text);
    const span = document.createElement("span");
    span.className = kind;
    span.textContent = text;
    block.append(span);
  };
  for (const match of code.matchAll(TOKENS)) {
    const [text, comment, attribute, number, word] = match;
    const kind = comment ? "comment" : attribute ? "attribute" : number ? "number" : WORDS.has(word) ? "word" : TYPES.test(word) ? "type" : "";
    if (!kind) continue;
    put(code.slice(at, match.index), "");
    put(text, kind);
    at = match.index + text.length;
  }
  put(code.slice(at), "");
  return block;
}
