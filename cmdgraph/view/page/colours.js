// Which colour a node has: its shader's, or how much of something it takes.

const HUES = ["#4c78a8", "#e07b39", "#4f9d69", "#b4526a", "#7d6bb3", "#c69a1c", "#3597a6", "#9c6b4a", "#7f8b2f", "#c065a5", "#5b7c99", "#d0605e"];
const OTHER = "#8b8b87";
const HEAT = {
  light: ["#f1ebe1", "#f3cf9b", "#e8934f", "#c94f2d", "#7c1d23"],
  dark: ["#2b2c31", "#57392d", "#a1522f", "#e08442", "#ffdca8"],
};

const shaders = new Map(); // name -> {name, colour, nodes}
for (const node of nodes) {
  const name = node.shader || node.operation;
  if (!shaders.has(name)) shaders.set(name, { name, nodes: [] });
  shaders.get(name).nodes.push(node.index);
}
const ranked = [...shaders.values()].sort((a, b) => b.nodes.length - a.nodes.length);
ranked.forEach((shader, at) => (shader.colour = HUES[at] || OTHER));

const WAYS = [
  { id: "shader", name: "Shader" },
  { id: "time", name: "Time", of: (node) => profile.ns[node.index] || 0, word: duration, needs: () => profile },
  { id: "bytes", name: "Bytes", of: (node) => node.bytes, word: bytes },
  { id: "wave", name: "Wave", of: (node) => node.wave, word: (wave) => `wave ${wave}`, even: true },
].filter((way) => !way.needs || way.needs());
// One node that takes much more than all others must not make these look alike: the scale ends below it.
for (const way of WAYS) {
  if (!way.of) continue;
  const values = nodes.map(way.of).sort((a, b) => a - b);
  way.most = values[way.even ? values.length - 1 : Math.floor((values.length - 1) * 0.98)] || values[values.length - 1] || 1;
  way.over = values[values.length - 1] > way.most;
}

let colouring = WAYS.find((way) => way.id === "time") || WAYS[0];
let palette = "light";

function colourOf(node) {
  if (!colouring.of) return shaders.get(node.shader || node.operation).colour;
  return heat(colouring.of(node) / colouring.most, colouring.even);
}

// Small values must differ too, so the scale is that of square roots, except where the values are even steps.
function heat(part, even) {
  const stops = HEAT[palette];
  const at = Math.min(1, even ? part : Math.sqrt(part)) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  return mix(stops[low], stops[low + 1], at - low);
}

function mix(a, b, part) {
  const channel = (text, from) => parseInt(text.slice(from, from + 2), 16);
  const mixed = [1, 3, 5].map((from) => Math.round(channel(a, from) * (1 - part) + channel(b, from) * part));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}
