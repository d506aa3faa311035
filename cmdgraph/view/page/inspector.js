// The panel on the right: the whole graph, a group, a node or a buffer.

const panel = document.getElementById("inspector");

function inspect() {
  const item = state.selected;
  panel.replaceChildren(...(state.resource != null ? ofResource(state.resource) : !item ? ofGraph() : item.node >= 0 ? ofNode(nodes[item.node]) : ofGroup(item)));
  panel.scrollTop = 0;
}

function head(kind, title, trail = []) {
  return el("div", { className: "head" }, el("p", { className: "kind", textContent: kind }), el("h2", { textContent: title }), trail.length ? el("p", { className: "trail", textContent: trail.join(" / ") }) : null);
}

function facts(pairs) {
  const list = el("dl", { className: "facts" });
  for (const [name, value] of pairs) if (value !== "" && value != null) list.append(el("dt", { textContent: name }), el("dd", {}, value));
  return list;
}

function section(title, ...children) {
  return el("section", {}, el("h3", { textContent: title }), ...children);
}

function link(text, action, className = "link") {
  return el("button", { className, textContent: text, onclick: action });
}

function ofGraph() {
  const t = doc.totals;
  const out = [head("Graph", doc.name || "unnamed")];
  out.push(facts([["Adapter", doc.device.adapter], ["Through", [doc.device.backend, doc.device.implementation].filter(Boolean).join(", ")]]));
  out.push(facts([
    ["Nodes", plain.format(t.nodes)],
    ["Dispatches", plain.format(t.dispatches)],
    ["Waves", `${plain.format(t.waves)}, at most ${many(t.widest_wave, "node")} in one`],
    ["Critical path", many(t.critical_path, "node")],
    ["Resources", `${plain.format(t.resources)}, ${bytes(t.resource_bytes)}`],
    ["Bytes touched", bytes(t.touched_bytes)],
  ]));
  if (profile) out.push(ofProfile());
  out.push(section("Shaders", shaderTable(nodes)));
  return out;
}

function ofProfile() {
  return section("Profiled", facts([
    ["Undisturbed", `${profile.undisturbed_ms.toFixed(2)} ms a replay`],
    ["Profiled", `${profile.profiled_ms.toFixed(2)} ms a replay`],
    ["Sum of nodes", duration(profile.sum_ns)],
    ["Critical path", `${duration(profile.critical_ns)}, ${many(criticalPath.length, "node")}`],
    ["Clock", `${profile.period_ns} ns a tick, steps of ${duration(profile.step_ns)}`],
    ["Reading zero", profile.zeros ? many(profile.zeros, "node") : "none"],
  ]), el("p", { className: "note", textContent: profile.note }));
}

function shaderTable(some) {
  const found = new Map();
  for (const node of some) {
    const name = node.shader || node.operation;
    const sum = found.get(name) || { count: 0, time: 0, nodes: [] };
    sum.count += 1;
    sum.time += profile ? profile.ns[node.index] || 0 : 0;
    sum.nodes.push(node.index);
    found.set(name, sum);
  }
  const order = [...found].sort((a, b) => (profile ? b[1].time - a[1].time : b[1].count - a[1].count));
  const most = Math.max(...order.map(([, sum]) => (profile ? sum.time : sum.count)), 1);
  const table = el("div", { className: "bars" });
  for (const [name, sum] of order) {
    const bar = el("i");
    bar.style.width = `${(100 * (profile ? sum.time : sum.count)) / most}%`;
    bar.style.background = shaders.get(name).colour;
    const line = link("", () => mark(sum.nodes), "bar");
    line.title = "Show where";
    line.append(el("span", { className: "name", textContent: name }), el("b", { textContent: profile ? `${sum.count} · ${duration(sum.time)}` : sum.count }), bar);
    table.append(line);
  }
  return table;
}

function ofGroup(item) {
  const some = within(item);
  const trail = [];
  for (let up = item.parent; up && up !== root; up = up.parent) trail.unshift(up.name);
  const waves = new Set(some.map((node) => node.wave));
  return [
    head("Group", item.name, trail),
    link(item.open ? "Close group" : "Open group", () => toggle(item), "action"),
    facts([
      ["Nodes", `${plain.format(item.count)}, from ${item.first} to ${item.last}`],
      ["Waves", plain.format(waves.size)],
      ["Time", profile ? `${duration(timeOf(item))} profiled, ${((100 * timeOf(item)) / Math.max(1, profile.sum_ns)).toFixed(1)} %` : ""],
      ["Critical path", many(some.filter((node) => critical.has(node.index)).length, "node")],
      ["Bytes touched", bytes(some.reduce((sum, node) => sum + node.bytes, 0))],
    ]),
    section("Shaders", shaderTable(some)),
  ];
}

function ofNode(node) {
  const pipeline = node.pipeline == null ? null : doc.pipelines[node.pipeline];
  const out = [head(`Node ${node.index} · ${node.operation}`, node.name, node.path)];
  out.push(facts([
    ["Time", profile ? timeWords(node) : ""],
    ["Shader", pipeline ? `${node.shader}, ${pipeline.entry_point || "main"}` : ""],
    ["Workgroups", sizeOf(node)],
    ["Wave", `${node.wave} of ${doc.totals.waves}, ${doc.waves[node.wave].length > 1 ? `with ${many(doc.waves[node.wave].length - 1, "other")}` : "alone in it"}`],
    ["Critical path", critical.has(node.index) ? "on it" : "not on it"],
    ["Bytes touched", bytes(node.bytes)],
    ["Immediates", node.immediates.map(([offset, hex]) => `${offset}: ${hex}`).join("; ")],
    ["Called at", node.place],
  ]));
  if (node.bindings.length) out.push(section(pipeline ? "Bindings" : "Buffers", bindingTable(node)));
  out.push(section(`Waits for ${node.waits.length}`, nodeList(node.waits, "before")));
  out.push(section(`${node.dependents.length} ${node.dependents.length === 1 ? "waits" : "wait"} for it`, nodeList(node.dependents, "after")));
  if (pipeline) out.push(ofModule(doc.modules[pipeline.module]));
  return out;
}

function timeWords(node) {
  const ns = profile.ns[node.index];
  if (ns == null) return "the clock ran backwards";
  if (ns === 0) return "reads zero: below the clock's step";
  return `${duration(ns)} profiled, ${((100 * ns) / profile.sum_ns).toFixed(2)} %`;
}

function bindingTable(node) {
  const table = el("div", { className: "bindings" });
  for (const b of node.bindings) {
    const resource = doc.resources[b.resource];
    const slot = b.name.replace(/@group\((\d+)\) @binding\((\d+)\)/, "$1.$2");
    const line = link("", () => showResource(b.resource), "binding");
    line.title = `${b.name}: ${resource.label}`;
    line.append(el("span", { className: "slot", textContent: slot }), el("span", { className: "name", textContent: resource.label }), el("span", { className: `access ${b.access}`, textContent: b.access }));
    const where = b.size == null ? "texture" : b.offset === 0 && b.size === resource.size ? bytes(b.size) : `${bytes(b.size)} at ${plain.format(b.offset)}`;
    line.append(el("small", { textContent: [b.variable, where].filter(Boolean).join(" · ") }));
    table.append(line);
  }
  return table;
}

function nodeList(some, kind) {
  if (!some.length) return el("p", { className: "note", textContent: "nothing in this graph" });
  const list = el("div", { className: `nodes ${kind}` });
  for (const index of some.slice(0, 60)) {
    const line = link("", () => select(leaves[index], true), "noderow");
    line.append(el("b", { textContent: index }), el("span", { className: "name", textContent: nodes[index].name }), el("small", { textContent: nodes[index].shader }));
    list.append(line);
  }
  if (some.length > 60) list.append(el("p", { className: "note", textContent: `and ${some.length - 60} more` }));
  return list;
}

function ofModule(module) {
  const copy = link("Copy", () => navigator.clipboard && navigator.clipboard.writeText(module.code).then(() => (copy.textContent = "Copied")), "small");
  const made = section(module.label ? `WGSL · ${module.label}` : "WGSL", highlighted(module.code.trim()));
  made.querySelector("h3").append(copy);
  return made;
}

function ofResource(number) {
  const resource = doc.resources[number];
  const by = (access) => users[number].filter((use) => use.access.includes(access)).map((use) => use.node);
  const [readers, writers] = [[...new Set(by("read"))], [...new Set(by("write"))]];
  const role = resource.input && resource.output ? "read before it is written, and changed" : resource.input ? "input: read before it is written" : resource.output ? "changed by a replay" : "";
  return [
    head(resource.kind === "buffer" ? "Buffer" : "Texture", resource.label),
    facts([["Size", bytes(resource.size)], ["Role", role], ["Usage", resource.usage.join(", ")]]),
    section(`Written by ${writers.length}`, nodeList(writers, "before")),
    section(`Read by ${readers.length}`, nodeList(readers, "after")),
  ];
}
