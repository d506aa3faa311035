// The graph as the page works with it: items (the root, groups, nodes) in a tree, and who waits for whom.

const doc = JSON.parse(document.getElementById("data").textContent);
const nodes = doc.nodes;
const profile = doc.profile || null;

for (const node of nodes) node.dependents = [];
for (const node of nodes) for (const earlier of node.waits) nodes[earlier].dependents.push(node.index);
const criticalPath = profile ? profile.critical_path : doc.critical_path;
const critical = new Set(criticalPath);

// Nodes by the resource that they use: [{node, access}].
const users = doc.resources.map(() => []);
for (const node of nodes) for (const b of node.bindings) users[b.resource].push({ node: node.index, access: b.access });

// An item of the map: `node` is its index, or -1 for a group; `first` and `last` are the nodes within it.
function makeItem(data, parent, depth) {
  if (typeof data === "number") {
    return { id: `n${data}`, node: data, name: nodes[data].name, parent, depth, children: [], first: data, last: data, count: 1, open: true };
  }
  const item = { id: "", node: -1, name: data.name, parent, depth, children: [], open: true };
  item.children = data.children.map((child) => makeItem(child, item, depth + 1));
  item.first = item.children.length ? item.children[0].first : 0;
  item.last = item.children.length ? item.children[item.children.length - 1].last : -1;
  item.count = item.children.reduce((sum, child) => sum + child.count, 0);
  item.id = `g${depth}-${item.first}`;
  return item;
}

// Within a group the beginning that all names share says nothing: "layer.3.mlp.gate" is "mlp.gate" in layer 3.
function shorten(item) {
  const own = item.children.filter((child) => child.node >= 0);
  let shared = own.length > 1 ? own[0].name : "";
  for (const child of own) while (!child.name.startsWith(shared)) shared = shared.slice(0, -1);
  const cut = item.depth ? Math.max(...[..."./: "].map((mark) => shared.lastIndexOf(mark))) + 1 : 0;
  for (const child of own) child.name = child.name.slice(cut) || child.name;
  item.children.forEach(shorten);
}

const root = makeItem(doc.groups, null, 0);
shorten(root);
const items = new Map();
const leaves = [];
(function collect(item) {
  items.set(item.id, item);
  if (item.node >= 0) leaves[item.node] = item;
  item.children.forEach(collect);
})(root);
const groups = [...items.values()].filter((item) => item.node < 0 && item !== root);

// What stands for a node on the map: the outermost closed group around it, or itself.
function shown(item) {
  let found = item;
  for (let up = item.parent; up; up = up.parent) if (!up.open) found = up;
  return found;
}

function reveal(item) {
  let changed = false;
  for (let up = item.parent; up; up = up.parent) {
    changed = changed || !up.open;
    up.open = true;
  }
  return changed;
}

// At first groups are open as deep as the map stays readable.
const READABLE = 48;
function openReadable() {
  groups.forEach((group) => (group.open = false));
  for (let depth = 1; ; depth++) {
    const level = groups.filter((group) => group.depth === depth);
    if (!level.length) return;
    level.forEach((group) => (group.open = true));
    if (visible(root) > READABLE) return level.forEach((group) => (group.open = false));
  }
}

function visible(item) {
  return item.children.reduce((sum, child) => sum + (child.node < 0 && child.open ? visible(child) : 1), 0);
}

function within(item) {
  return nodes.slice(item.first, item.last + 1);
}

function timeOf(item) {
  return within(item).reduce((sum, node) => sum + (profile.ns[node.index] || 0), 0);
}

// -- words

const plain = new Intl.NumberFormat("en");
function bytes(count) {
  if (count == null) return "";
  const units = ["B", "KiB", "MiB", "GiB"];
  let at = 0;
  for (; count >= 1024 && at < 3; at++) count /= 1024;
  return `${Number(count.toPrecision(4))} ${units[at]}`;
}
function duration(ns) {
  if (ns == null) return "";
  if (ns < 1e3) return `${Number(ns.toPrecision(3))} ns`;
  if (ns >= 1e6) return `${(ns / 1e6).toFixed(2)} ms`;
  return `${(ns / 1e3).toFixed(ns < 1e5 ? 2 : 1)} us`;
}
function many(count, word) {
  return `${plain.format(count)} ${word}${count === 1 ? "" : "s"}`;
}
// What a copy, a clear or a write is about: "a → b".
function moved(node) {
  const named = (access) => node.bindings.filter((b) => b.access === access).map((b) => doc.resources[b.resource].label);
  return `${named("read").join(", ")} → ${named("write").join(", ")}`.trim();
}
function sizeOf(node) {
  return node.workgroups ? node.workgroups.join(" × ") : node.operation === "dispatch_workgroups_indirect" ? "indirect" : "";
}
