// The page as a whole: what happens when something is chosen, opened, typed or dragged.

const stage = document.getElementById("stage");
const tip = document.getElementById("tip");
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

// -- hands

let drag = null;
canvas.addEventListener("pointerdown", (event) => {
  drag = { x: event.clientX, y: event.clientY, from: { ...view }, moved: false };
  moving++;
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", (event) => {
  if (drag) {
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    drag.moved = drag.moved || Math.hypot(dx, dy) > 4;
    if (drag.moved) Object.assign(view, { x: drag.from.x + dx, y: drag.from.y + dy });
    stage.classList.toggle("dragging", drag.moved);
    return draw();
  }
  const item = hit(event.offsetX, event.offsetY);
  if (item !== state.hovered) hover(item);
  if (item) tip.style.transform = `translate(${Math.min(event.offsetX + 14, canvas.clientWidth - 260)}px, ${Math.min(event.offsetY + 16, canvas.clientHeight - 70)}px)`;
});
canvas.addEventListener("pointerup", (event) => {
  const was = drag;
  drag = null;
  stage.classList.remove("dragging");
  if (!was || was.moved) return;
  const item = hit(event.offsetX, event.offsetY);
  if (item && item.node < 0 && (!item.open || onTitle(item, event.offsetY))) toggle(item);
  else select(item);
});
canvas.addEventListener("pointerleave", () => hover(null));
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  moving++;
  if (event.shiftKey) Object.assign(view, { x: view.x - event.deltaY - event.deltaX }), draw();
  else zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : event.ctrlKey ? 0.01 : 0.0016)), event.offsetX, event.offsetY);
}, { passive: false });
canvas.addEventListener("dblclick", (event) => {
  const item = hit(event.offsetX, event.offsetY);
  if (item && item.node >= 0) centre(item, 1);
});

function onTitle(item, y) {
  return y < item.y * view.k + view.y + Math.max(18, PAD.top * view.k);
}

function hover(item) {
  state.hovered = item;
  const small = item && (item.node >= 0 ? view.k < 0.75 : !item.open);
  tip.hidden = !small;
  canvas.style.cursor = item && (item.node >= 0 || !item.open) ? "pointer" : "";
  if (small) {
    const note = item.node < 0 ? many(item.count, "node") : [nodes[item.node].shader, sizeOf(nodes[item.node])].filter(Boolean).join(" · ");
    const time = profile ? duration(item.node < 0 ? timeOf(item) : profile.ns[item.node]) : "";
    tip.replaceChildren(el("strong", { textContent: item.node < 0 ? item.name : `${item.node}  ${item.name}` }), el("span", { textContent: [note, time].filter(Boolean).join(" · ") }));
  }
  draw();
}

const KEYS = {
  "/": () => field.focus(),
  ArrowLeft: () => step(-1),
  ArrowRight: () => step(1),
  ArrowUp: () => walk("waits"),
  ArrowDown: () => walk("dependents"),
  Enter: () => state.selected && centre(state.selected, 1),
  "[": () => group(false),
  "]": () => group(true),
  "+": () => zoom(1.3),
  "=": () => zoom(1.3),
  "-": () => zoom(1 / 1.3),
  f: () => fit(),
  0: () => fit(),
  e: () => openAll(true),
  c: () => openAll(false),
  p: showCriticalPath,
  t: () => theme(palette === "dark" ? "light" : "dark"),
  "?": () => document.getElementById("keys").showModal(),
  Escape: () => select(null),
};
document.addEventListener("keydown", (event) => {
  const elsewhere = event.target === field || document.getElementById("keys").open;
  if (event.ctrlKey || event.metaKey || event.altKey || elsewhere) return;
  if (event.key === "Enter" && event.target instanceof HTMLButtonElement) return;
  const action = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action) return;
  event.preventDefault();
  action();
});
field.addEventListener("input", () => {
  buildOutline();
  const words = field.value.trim().toLowerCase();
  state.marked = words ? new Set(matches(words)) : null;
  draw();
});
field.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    field.value = "";
    state.marked = null;
    buildOutline();
    canvas.focus();
    draw();
  } else if (event.key === "Enter") {
    const [first] = matches(field.value.trim().toLowerCase());
    if (first != null) select(leaves[first], true), canvas.focus();
  } else return;
  event.stopPropagation();
});

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
