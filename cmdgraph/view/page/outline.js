// The outline on the left: groups and nodes as a tree, or what a search found.

const tree = document.getElementById("outline");
const field = document.getElementById("search");
const LIMIT = 300;
let rows = new Map();

function el(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter((child) => child != null));
  return made;
}

function buildOutline() {
  rows = new Map();
  tree.replaceChildren();
  const words = field.value.trim().toLowerCase();
  if (!words) {
    fill(root, tree);
  } else {
    const found = matches(words);
    const what = found.length > LIMIT ? `the first ${LIMIT} of ${many(found.length, "node")}` : many(found.length, "node");
    tree.append(el("p", { className: "found", textContent: found.length ? what : "Nothing has that name." }));
    found.slice(0, LIMIT).forEach((node) => tree.append(row(leaves[node], 1, true)));
  }
  markRow();
}

// All words must occur in a node's names: its own, its groups', its shader's, its buffers'.
function matches(words) {
  const parts = words.split(/\s+/);
  return nodes.filter((node) => parts.every((part) => haystack(node).includes(part))).map((node) => node.index);
}

function haystack(node) {
  if (!node.words) {
    const buffers = node.bindings.map((b) => doc.resources[b.resource].label);
    node.words = [node.index, node.name, ...node.path, node.shader, node.operation, ...buffers].join("\n").toLowerCase();
  }
  return node.words;
}

function fill(item, into) {
  for (const child of item.children) {
    into.append(row(child, child.depth, false));
    if (child.node < 0 && child.open) fill(child, into);
  }
}

function row(item, depth, flat) {
  const leaf = item.node >= 0;
  const node = leaf ? nodes[item.node] : null;
  const made = el("div", { className: leaf ? "row" : "row group", id: `row-${item.id}`, title: leaf ? [...node.path, node.name].join(" / ") : item.name });
  made.setAttribute("role", "treeitem");
  made.setAttribute("aria-level", depth);
  made.style.setProperty("--depth", depth - 1);
  if (leaf) {
    const dot = el("i", { className: "dot" });
    dot.style.background = colourOf(node);
    const place = flat && node.path.length ? el("small", { textContent: node.path.join(" / ") }) : null;
    made.append(dot, el("span", { className: "name" }, flat ? node.name : item.name, place), el("b", { textContent: node.index }));
  } else {
    made.setAttribute("aria-expanded", item.open);
    made.append(el("i", { className: item.open ? "twist open" : "twist" }), el("span", { className: "name", textContent: item.name }));
    made.append(el("b", { textContent: profile ? duration(timeOf(item)) : item.count }));
  }
  made.onclick = () => (leaf ? select(item, true) : toggle(item));
  rows.set(item.id, made);
  return made;
}

function markRow() {
  tree.querySelectorAll(".row.chosen").forEach((one) => one.classList.remove("chosen"));
  const one = state.selected && rows.get(state.selected.id);
  if (!one) return tree.removeAttribute("aria-activedescendant");
  one.classList.add("chosen");
  tree.setAttribute("aria-activedescendant", one.id);
  one.scrollIntoView({ block: "nearest" });
}
