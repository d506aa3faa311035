// Where everything lies. Within a group the children stand in rows: a row holds what could run at once as far as the group
// is concerned. Long groups break into columns, read downwards and then to the right.

const NODE = { w: 176, h: 38 };
const CARD = { w: 208, h: 58 };
const GAP = { x: 16, y: 20 };
const PAD = { x: 14, top: 34, bottom: 14 };
const COLUMN_GAP = 44;
const LONG = 1500;

// `room` is the shape of the window, {w, h}: the root's columns are as many as let it appear largest there.
function layout(room) {
  measure(root, room);
  place(root, 0, 0);
}

function measure(item, room) {
  if (item.node >= 0) return Object.assign(item, NODE);
  if (!item.open) return Object.assign(item, CARD);
  item.children.forEach((child) => measure(child, room));
  const rows = rowsOf(item);
  if (item !== root) return arrange(item, breakRows(rows, Math.ceil(heightOf(rows) / LONG)));
  let [best, count] = [0, 1];
  for (let columns = 1; columns <= Math.min(40, rows.length); columns++) {
    arrange(item, breakRows(rows, columns));
    const scale = Math.min(room.w / item.w, room.h / item.h);
    if (scale > best) [best, count] = [scale, columns];
  }
  arrange(item, breakRows(rows, count));
}

function arrange(item, columns) {
  let x = item === root ? 0 : PAD.x;
  let height = 0;
  for (const column of columns) {
    const width = Math.max(...column.map(widthOf));
    let y = item === root ? 0 : PAD.top;
    for (const row of column) {
      const tall = Math.max(...row.map((child) => child.h));
      let left = x + (width - widthOf(row)) / 2;
      for (const child of row) {
        child.dx = left;
        child.dy = y + (tall - child.h) / 2;
        child.column = x - left; // where its column begins, seen from it
        left += child.w + GAP.x;
      }
      y += tall + GAP.y;
    }
    height = Math.max(height, y - GAP.y);
    x += width + COLUMN_GAP;
  }
  item.w = Math.max(CARD.w, x - COLUMN_GAP + (item === root ? 0 : PAD.x));
  item.h = height + (item === root ? 0 : PAD.bottom);
}

// Children by their depth in the graph of who waits for whom among them.
function rowsOf(item) {
  const depth = new Map();
  const rows = [];
  for (const child of item.children) {
    let at = 0;
    for (const node of within(child)) {
      for (const earlier of node.waits) {
        const other = childAbove(leaves[earlier], item);
        if (other && other !== child) at = Math.max(at, depth.get(other) + 1);
      }
    }
    depth.set(child, at);
    (rows[at] = rows[at] || []).push(child);
  }
  return rows.filter(Boolean).flatMap(wrap);
}

function childAbove(item, group) {
  while (item && item.parent !== group) item = item.parent;
  return item;
}

// A row of very many that could all run at once goes on in the next line.
function wrap(row) {
  const most = Math.max(6, Math.ceil(Math.sqrt(row.length) * 1.2));
  const lines = [];
  for (let at = 0; at < row.length; at += most) lines.push(row.slice(at, at + most));
  return lines;
}

function widthOf(row) {
  return row.reduce((sum, child) => sum + child.w + GAP.x, -GAP.x);
}

function heightOf(rows) {
  return rows.reduce((sum, row) => sum + Math.max(...row.map((child) => child.h)) + GAP.y, 0);
}

// Rows in columns of about the same height.
function breakRows(rows, count) {
  const heights = rows.map((row) => heightOf([row]));
  const total = heightOf(rows);
  const columns = [[]];
  let filled = 0;
  rows.forEach((row, at) => {
    const column = columns[columns.length - 1];
    if (column.length && columns.length < count && filled + heights[at] / 2 > (total / count) * columns.length) columns.push([]);
    columns[columns.length - 1].push(row);
    filled += heights[at];
  });
  return columns;
}

// The outermost items around two that do not hold both.
function apart(from, to) {
  const above = new Set();
  for (let item = from; item; item = item.parent) above.add(item.parent);
  while (!above.has(to.parent)) to = to.parent;
  return [childAbove(from, to.parent), to];
}

// The x of the gap left of the column in which the way from one item to another ends.
function gutter(from, to) {
  const last = apart(from, to)[1];
  return last.x + last.column - COLUMN_GAP / 2;
}

function place(item, x, y) {
  item.x = x;
  item.y = y;
  if (item.open) item.children.forEach((child) => place(child, x + child.dx, y + child.dy));
}

// The lines between what is shown: [{from, to, nodes: [[earlier, later], ...], critical}].
function edges() {
  const found = new Map();
  const stands = leaves.map(shown);
  for (const node of nodes) {
    for (const earlier of node.waits) {
      const from = stands[earlier];
      const to = stands[node.index];
      if (from === to) continue;
      const key = `${from.id} ${to.id}`;
      let edge = found.get(key);
      if (!edge) found.set(key, (edge = { from, to, pairs: [], critical: false }));
      edge.pairs.push([earlier, node.index]);
      edge.critical = edge.critical || (critical.has(earlier) && critical.has(node.index));
    }
  }
  return [...found.values()];
}
