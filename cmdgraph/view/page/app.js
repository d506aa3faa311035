// The page as a whole: what happens when something is chosen, opened, typed or dragged.

state.resource = null;

function select(item, go = false) {
  state.selected = item;
  state.resource = null;
  state.marked = null;
  if (item && reveal(item)) {
    relayout();
    buildOutline();
  }
  if (item && go) centre(item);
  history.replaceState(null, "", item && item.node >= 0 ? `#node-${item.node}` : location.pathname + location.search);
  changed();
}

function toggle(item) {
  const before = { x: item.x, y: item.y };
  item.open = !item.open;
  state.selected = item;
  state.resource = state.marked = null;
  relayout();
  view.x += (before.x - item.x) * view.k; // what was clicked stays under the pointer
  view.y += (before.y - item.y) * view.k;
  buildOutline();
  changed();
}

function openAll(open) {
  groups.forEach((group) => (group.open = open));
  if (state.selected) state.selected = shown(state.selected);
  relayout();
  buildOutline();
  fit();
  changed();
}

function mark(some) {
  state.marked = new Set(some);
  draw();
}

function showResource(number) {
  state.resource = number;
  mark(users[number].map((use) => use.node));
  inspect();
}

function changed() {
  markRow();
  inspect();
  draw();
}

function step(by) {
  const at = state.selected ? (by < 0 ? state.selected.first : state.selected.last) + by : 0;
  if (nodes[at]) select(leaves[at], true);
}

function walk(kind) {
  if (!state.selected) return step(1);
  const next = nodes[kind === "waits" ? state.selected.first : state.selected.last][kind];
  if (next.length) select(leaves[kind === "waits" ? next[next.length - 1] : next[0]], true);
}

function group(open) {
  if (!state.selected) return;
  const item = state.selected.node >= 0 ? state.selected.parent : state.selected;
  if (item !== root && item.open !== open) toggle(item);
}

// -- tools

function buildTools() {
  document.getElementById("name").textContent = doc.name || "unnamed graph";
  const t = doc.totals;
  const words = [many(t.nodes, "node"), many(t.waves, "wave"), bytes(t.resource_bytes)];
  if (profile) words.push(`profiled on ${doc.device.adapter || "its device"}`);
  document.getElementById("facts").textContent = words.join("  ·  ");
  const choice = document.getElementById("colours");
  for (const way of WAYS) {
    const button = el("button", { textContent: way.name, onclick: () => colour(way) });
    button.setAttribute("role", "radio");
    button.dataset.way = way.id;
    choice.append(button);
  }
}

function colour(way) {
  colouring = way;
  document.querySelectorAll("#colours button").forEach((one) => one.setAttribute("aria-checked", one.dataset.way === way.id));
  buildLegend();
  buildOutline();
  draw();
}

function buildLegend() {
  const legend = document.getElementById("legend");
  legend.replaceChildren();
  if (!colouring.of) {
    for (const shader of ranked.slice(0, HUES.length)) {
      const dot = el("i", { className: "dot" });
      dot.style.background = shader.colour;
      legend.append(link("", () => mark(shader.nodes), "key"));
      legend.lastChild.append(dot, el("span", { textContent: shader.name }));
    }
    if (ranked.length > HUES.length) legend.append(el("span", { className: "key", textContent: `and ${ranked.length - HUES.length} others` }));
    return;
  }
  const strip = el("i", { className: "strip" });
  strip.style.background = `linear-gradient(90deg, ${Array.from({ length: 9 }, (_, at) => heat((at / 8) ** (colouring.even ? 1 : 2), colouring.even)).join(", ")})`;
  legend.append(el("span", { textContent: colouring.word(0) }), strip, el("span", { textContent: `${colouring.word(colouring.most)}${colouring.over ? " and more" : ""}` }));
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  palette = name;
  readInk();
  if (ranked.length) buildLegend(), buildOutline();
  draw();
}

function showCriticalPath() {
  state.path = !state.path;
  document.getElementById("critical").setAttribute("aria-pressed", state.path);
  if (state.path) state.selected = state.marked = null;
  changed();
}

for (const [id, action] of Object.entries({
  critical: showCriticalPath,
  expand: KEYS.e,
  collapse: KEYS.c,
  theme: KEYS.t,
  help: KEYS["?"],
  closer: KEYS["+"],
  farther: KEYS["-"],
  fit: KEYS.f,
})) document.getElementById(id).onclick = action;

new ResizeObserver(draw).observe(canvas);
theme(window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
tip.hidden = true;
buildTools();
openReadable();
relayout();
fit();
colour(colouring);
const asked = /^#node-(\d+)$/.exec(location.hash);
if (asked && nodes[asked[1]]) select(leaves[asked[1]], true);
else inspect();
document.documentElement.dataset.ready = "true";
