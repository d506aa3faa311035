// The map: the items on a canvas that can be panned and zoomed. What is too small to read is left out.

const canvas = document.getElementById("map");
const pen = canvas.getContext("2d");
const view = { x: 0, y: 0, k: 1 };
const state = { selected: null, hovered: null, path: false, marked: null, lines: [] };
let ink = {};
let frame = 0;
let moving = 0;
const MARGIN = 32;
const FOOT = 74; // the legend's
const SIDE = 48; // the zoom buttons'

function readInk() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["paper", "panel", "line", "ink", "muted", "faint", "accent", "before", "after", "group"]) {
    ink[name] = style.getPropertyValue(`--${name}`).trim();
  }
  ink.text = style.getPropertyValue("--sans");
  ink.code = style.getPropertyValue("--mono");
}

function relayout() {
  layout({ w: Math.max(200, canvas.clientWidth - MARGIN - SIDE), h: Math.max(200, canvas.clientHeight - MARGIN - FOOT) });
  state.lines = edges();
  draw();
}

function draw() {
  if (!frame) frame = requestAnimationFrame(paint);
}

function paint() {
  frame = 0;
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.setTransform(ratio * view.k, 0, 0, ratio * view.k, ratio * view.x, ratio * view.y);
  const near = related();
  paintGroups(root, bounds());
  paintLines(near);
  paintItems(root, bounds(), near);
  paintTitles(root, bounds(), ratio);
}

function bounds() {
  return { left: -view.x / view.k, top: -view.y / view.k, right: (canvas.clientWidth - view.x) / view.k, bottom: (canvas.clientHeight - view.y) / view.k };
}

function outside(item, box) {
  return item.x > box.right || item.x + item.w < box.left || item.y > box.bottom || item.y + item.h < box.top;
}

// What stays bright: with a selection, it and its neighbours; with marked nodes, those. Null: all of it.
function related() {
  if (state.marked) return new Set([...state.marked].map((node) => shown(leaves[node])));
  if (!state.selected) return state.path ? new Set(criticalPath.map((node) => shown(leaves[node]))) : null;
  const found = new Set([shown(state.selected)]);
  for (let at = state.selected.first; at <= state.selected.last; at++) {
    found.add(shown(leaves[at]));
    for (const other of [...nodes[at].waits, ...nodes[at].dependents]) found.add(shown(leaves[other]));
  }
  return found;
}

// -- where things are

function hit(x, y) {
  const at = { x: (x - view.x) / view.k, y: (y - view.y) / view.k };
  let item = root;
  for (;;) {
    const inner = item.children.find((c) => at.x >= c.x && at.x <= c.x + c.w && at.y >= c.y && at.y <= c.y + c.h);
    if (!inner) return item === root ? null : item;
    if (inner.node >= 0 || !inner.open) return inner;
    item = inner;
  }
}

function fit(item = root, most = 1.25) {
  const [w, h] = [canvas.clientWidth - MARGIN - SIDE, canvas.clientHeight - MARGIN - FOOT];
  const k = Math.min(w / item.w, h / item.h, most);
  glide({ k, x: MARGIN + w / 2 - k * (item.x + item.w / 2), y: MARGIN + h / 2 - k * (item.y + item.h / 2) });
}

function centre(item, least = 0.7) {
  const k = Math.max(view.k, least);
  glide({ k, x: canvas.clientWidth / 2 - k * (item.x + item.w / 2), y: canvas.clientHeight / 2 - k * (item.y + item.h / 2) });
}

function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const k = Math.min(4, Math.max(0.02, view.k * factor));
  Object.assign(view, { x: x - ((x - view.x) / view.k) * k, y: y - ((y - view.y) / view.k) * k, k });
  draw();
}

function glide(target) {
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const [start, from, run] = [performance.now(), { ...view }, ++moving];
  (function step(now) {
    if (run !== moving) return;
    const part = calm ? 1 : Math.min(1, Math.max(0, now - start) / 180);
    const eased = 1 - (1 - part) ** 3;
    for (const key of ["x", "y", "k"]) view[key] = from[key] + (target[key] - from[key]) * eased;
    draw();
    if (part < 1) requestAnimationFrame(step);
  })(calm ? start : performance.now());
}
