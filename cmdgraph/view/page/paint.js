// How the map's parts look: groups, lines, nodes, cards of closed groups, titles.

function paintGroups(item, box) {
  for (const child of item.children) {
    if (child.node >= 0 || !child.open || outside(child, box)) continue;
    rounded(child, 9);
    pen.fillStyle = ink.group;
    pen.fill();
    pen.lineWidth = (child === state.selected ? 2 : 1) / Math.min(1, Math.max(view.k, 0.4));
    pen.strokeStyle = child === state.selected ? ink.accent : ink.line;
    pen.stroke();
    paintGroups(child, box);
  }
}

function paintLines(near) {
  const chosen = state.selected && !state.marked ? state.selected : null;
  const late = [];
  pen.strokeStyle = ink.faint;
  pen.globalAlpha = near ? 0.35 : 1;
  pen.lineWidth = Math.max(1.1, 0.7 / view.k);
  pen.beginPath();
  for (const line of state.lines) {
    if (state.path && line.critical) late.push([line, ink.accent]);
    else if (chosen && line.pairs.some((pair) => inside(chosen, pair[1]) && !inside(chosen, pair[0]))) late.push([line, ink.before]);
    else if (chosen && line.pairs.some((pair) => inside(chosen, pair[0]) && !inside(chosen, pair[1]))) late.push([line, ink.after]);
    else trace(line);
  }
  pen.stroke();
  pen.globalAlpha = 1;
  for (const [line, colour] of late) {
    pen.beginPath();
    trace(line);
    pen.strokeStyle = colour;
    pen.lineWidth = Math.max(1.8, 1.6 / view.k);
    pen.stroke();
  }
}

function inside(item, node) {
  return item.first <= node && node <= item.last;
}

// From the foot of one box to the head of the other; by their left sides, past what lies between them, when it is straight
// below; around by the gap between the columns when it is higher up.
function trace({ from, to }) {
  const [x1, y1, x2, y2] = [from.x + from.w / 2, from.y + from.h, to.x + to.w / 2, to.y];
  const gap = y2 - y1;
  pen.moveTo(x1, y1);
  if (gap < -40) {
    const x = gutter(from, to);
    const corners = [[x1, y1 + 9], [x, y1 + 9], [x, y2 - 10], [x2, y2 - 10], [x2, y2]];
    for (let at = 0; at < 4; at++) pen.arcTo(...corners[at], ...corners[at + 1], 6);
    pen.lineTo(x2, y2);
  } else if (gap > (from.parent === to.parent ? 2.2 : 6.5) * GAP.y && Math.abs(x1 - x2) < 40) {
    const side = Math.min(...apart(from, to).map((item) => item.x)) - 8 - Math.min(20, gap / 30);
    const [middle1, middle2] = [from.y + from.h / 2, to.y + to.h / 2];
    pen.moveTo(from.x, middle1);
    pen.arcTo(side, middle1, side, middle2, 12);
    pen.arcTo(side, middle2, to.x, middle2, 12);
    pen.lineTo(to.x, middle2);
  } else {
    const bend = gap >= 0 ? Math.min(Math.max(10, gap / 2), 90) : 60;
    pen.bezierCurveTo(x1, y1 + bend, x2, y2 - bend, x2, y2);
  }
}

function paintItems(item, box, near) {
  for (const child of item.children) {
    if (outside(child, box)) continue;
    if (child.node < 0 && child.open) {
      paintItems(child, box, near);
      continue;
    }
    pen.globalAlpha = near && !near.has(child) ? 0.34 : 1;
    if (child.node >= 0) paintNode(child);
    else paintCard(child);
    pen.globalAlpha = 1;
  }
}

function paintNode(item) {
  const node = nodes[item.node];
  const colour = colourOf(node);
  const legible = view.k > 0.42;
  rounded(item, 6);
  pen.fillStyle = legible ? ink.panel : colour;
  pen.fill();
  if (legible) {
    pen.save();
    pen.clip();
    pen.fillStyle = colour;
    pen.fillRect(item.x, item.y, 6, item.h);
    pen.restore();
    write(item.name, item.x + 15, item.y + 16, 12, ink.ink, item.w - 54, true);
    write(`${node.index}`, item.x + item.w - 9, item.y + 16, 10, ink.muted, 40, false, "right");
    const small = colouring.of && colouring.id !== "wave" ? colouring.word(colouring.of(node)) : sizeOf(node);
    write(node.shader || moved(node), item.x + 15, item.y + 30, 10, ink.muted, item.w - 84, true);
    write(small, item.x + item.w - 9, item.y + 30, 10, ink.muted, 70, false, "right");
  }
  outline(item, 6, state.path && critical.has(item.node));
}

function paintCard(item) {
  rounded(item, 8);
  pen.fillStyle = ink.panel;
  pen.fill();
  pen.save();
  pen.clip();
  const part = item.w / item.count;
  for (let at = 0; at < item.count; at++) {
    pen.fillStyle = colourOf(nodes[item.first + at]);
    pen.fillRect(item.x + at * part, item.y + item.h - 14, part + 0.4, 14);
  }
  pen.restore();
  if (view.k > 0.3) {
    const note = profile ? duration(timeOf(item)) : many(item.count, "node");
    chevron(item.x + 12, item.y + 18, false);
    write(item.name, item.x + 26, item.y + 22, 13, ink.ink, item.w - 116, false, "left", 600);
    write(note, item.x + item.w - 12, item.y + 22, 11, ink.muted, 84, false, "right");
  }
  outline(item, 8, state.path && within(item).some((node) => critical.has(node.index)));
}

function outline(item, radius, bold) {
  const chosen = item === state.selected;
  rounded(item, radius);
  pen.lineWidth = (chosen || bold ? 2 : 1) / Math.min(1, Math.max(view.k, 0.35));
  pen.strokeStyle = chosen || bold ? ink.accent : item === state.hovered ? ink.muted : ink.line;
  pen.stroke();
}

// Titles of open groups keep a size that can be read, as long as there is room for them.
function paintTitles(item, box, ratio) {
  for (const child of item.children) {
    if (child.node >= 0 || outside(child, box)) continue;
    if (child.open) {
      const tall = PAD.top * view.k;
      if (tall > 11 || (child.depth === 1 && child.h * view.k > 44)) {
        const px = Math.min(13, Math.max(9, tall * 0.55));
        pen.save();
        pen.setTransform(ratio, 0, 0, ratio, 0, 0);
        const [x, y] = [child.x * view.k + view.x, child.y * view.k + view.y + (tall > 11 ? tall / 2 + px * 0.36 : px + 1)];
        const deep = view.k > 0.55;
        if (deep) chevron(x + 13 * view.k, y - 4, true);
        write(child.name, x + (deep ? 28 * view.k : 5), y, px, tall > 11 ? ink.ink : ink.muted, child.w * view.k - (deep ? 40 : 8), false, "left", 600);
        pen.restore();
      }
      paintTitles(child, box, ratio);
    } else if (view.k <= 0.3 && child.w * view.k > 30) {
      pen.save();
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      write(child.name, child.x * view.k + view.x + 4, child.y * view.k + view.y + 11, 10, ink.ink, child.w * view.k - 8, false, "left", 600);
      pen.restore();
    }
  }
}

function chevron(x, y, open) {
  pen.beginPath();
  if (open) pen.moveTo(x - 4, y - 2), pen.lineTo(x, y + 2), pen.lineTo(x + 4, y - 2);
  else pen.moveTo(x - 2, y - 4), pen.lineTo(x + 2, y), pen.lineTo(x - 2, y + 4);
  pen.strokeStyle = ink.muted;
  pen.lineWidth = 1.5;
  pen.stroke();
}

const widths = new Map();
function write(text, x, y, size, colour, room, code, align = "left", weight = 400) {
  pen.font = `${weight} ${size}px ${code ? ink.code : ink.text}`;
  pen.textAlign = align;
  pen.fillStyle = colour;
  const key = `${pen.font}|${room | 0}|${text}`;
  let fitted = widths.get(key);
  if (fitted === undefined) {
    fitted = text;
    if (pen.measureText(text).width > room) {
      let length = text.length;
      while (length > 1 && pen.measureText(`${text.slice(0, length)}…`).width > room) length--;
      fitted = `${text.slice(0, length)}…`;
    }
    if (widths.size > 20000) widths.clear();
    widths.set(key, fitted);
  }
  pen.fillText(fitted, x, y);
}

function rounded(item, radius) {
  pen.beginPath();
  pen.roundRect(item.x, item.y, item.w, item.h, radius);
}
