// Pointer, wheel and keys.

const stage = document.getElementById("stage");
const tip = document.getElementById("tip");

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
