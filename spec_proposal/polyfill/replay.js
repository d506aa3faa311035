/** Puts recorded dispatches into a pass of the browser: only what changes from one to the next is set. */

/** @typedef {import('./recorder.js').Dispatch} Dispatch */
/** @typedef {{ group: GPUBindGroup, offsets: Uint32Array | null }} Bound */

/**
 * @typedef {object} Step what to set before a dispatch, and the dispatch
 * @property {GPUComputePipeline | null} pipeline null for: as before
 * @property {number} index of the first group to set; -1 for none
 * @property {GPUBindGroup | null} group null where it is a slot's
 * @property {Uint32Array | null} offsets
 * @property {number} slot
 * @property {[number, import('./recorder.js').Binding][] | null} more further groups to set
 * @property {[number, Uint8Array][] | null} immediates
 * @property {import('./recorder.js').Marker[] | null} markers
 * @property {number} x
 * @property {number} y
 * @property {number} z
 * @property {GPUBindGroup | null} plain `group` of the most common kind of step, for which nothing else need be looked at
 * @property {{ buffer: GPUBuffer, offset: number } | null} indirect
 */

/** @type {any} the browser's own methods, without our notes: for a rehearsal */
let native;

export function installReplay() {
  const { end } = GPUComputePassEncoder.prototype;
  const { beginComputePass, finish } = GPUCommandEncoder.prototype;
  const { createCommandEncoder } = GPUDevice.prototype;
  native = { end, beginComputePass, finish, createCommandEncoder };
}

/**
 * The steps for dispatches that follow each other in a pass; the first sets everything.
 * @param {Dispatch[]} dispatches
 * @returns {Step[]}
 */
export function planOf(dispatches) {
  const set = { pipeline: null, immediates: null, groups: [] };
  return dispatches.map((dispatch) => stepOf(dispatch, set));
}

/**
 * @param {GPUComputePassEncoder} pass
 * @param {Step[]} plan
 * @param {Bound[]} bindings what the slots hold
 */
export function walk(pass, plan, bindings) {
  const count = plan.length;
  for (let n = 0; n < count; n++) {
    const step = plan[n];
    if (step.plain !== null) {
      if (step.pipeline !== null) pass.setPipeline(step.pipeline);
      pass.setBindGroup(step.index, step.plain);
      pass.dispatchWorkgroups(step.x);
      continue;
    }
    if (step.markers !== null) markAll(pass, step.markers);
    if (step.pipeline !== null) pass.setPipeline(step.pipeline);
    if (step.index >= 0) {
      if (step.group !== null && step.offsets === null) pass.setBindGroup(step.index, step.group);
      else bind(pass, step.index, step.group === null ? bindings[step.slot] : step);
      if (step.more !== null) {
        for (const [index, each] of step.more) bind(pass, index, each.slot === undefined ? each : bindings[each.slot]);
      }
    }
    if (step.immediates !== null) {
      for (const [offset, bytes] of step.immediates) /** @type {any} */ (pass).setImmediates(offset, bytes);
    }
    if (step.indirect === null) pass.dispatchWorkgroups(step.x, step.y, step.z);
    else pass.dispatchWorkgroupsIndirect(step.indirect.buffer, step.indirect.offset);
  }
}

/**
 * @param {GPUComputePassEncoder} pass
 * @param {number} index
 * @param {any} bound
 */
export function bind(pass, index, { group, offsets }) {
  if (offsets === null) pass.setBindGroup(index, group);
  else pass.setBindGroup(index, group, offsets, 0, offsets.length);
}

/**
 * @param {GPUComputePassEncoder} pass
 * @param {import('./recorder.js').Marker[]} markers
 */
export function markAll(pass, markers) {
  for (const [name, label] of markers) pass[name](label);
}

/**
 * Encodes calls for the browser to judge; nothing is submitted.
 * @param {GPUDevice} device
 * @param {((pass: GPUComputePassEncoder) => void)[]} calls
 */
export function rehearse(device, calls) {
  const encoder = native.createCommandEncoder.call(device);
  const pass = native.beginComputePass.call(encoder);
  for (const call of calls) call(pass);
  native.end.call(pass);
  native.finish.call(encoder);
}

/**
 * @param {Dispatch} dispatch
 * @param {any} set what is set before it; brought up to date
 * @returns {Step}
 */
function stepOf({ pipeline, groups, immediates, size: [x, y, z], indirect, markers }, set) {
  const changed = groups.filter(([index, each]) => !same(set.groups[index], each));
  const [[index, first], ...more] = changed.length ? changed : [[-1, { slot: -1 }]];
  const step = /** @type {Step} */ ({
    plain: null,
    pipeline: pipeline === set.pipeline ? null : pipeline,
    index,
    group: first.group ?? null,
    offsets: first.offsets ?? null,
    slot: first.slot ?? -1,
    more: more.length ? more : null,
    immediates: immediates === set.immediates || !immediates.length ? null : immediates,
    markers: markers.length ? markers : null,
    x,
    y,
    z,
    indirect,
  });
  const { more: further, immediates: bytes, markers: marks, offsets } = step;
  if (!further && !bytes && !marks && !offsets && !indirect && y === 1 && z === 1) step.plain = step.group;
  set.pipeline = pipeline;
  set.immediates = immediates;
  for (const [at, each] of changed) set.groups[at] = each;
  return step;
}

/**
 * @param {any} a
 * @param {any} b
 */
function same(a, b) {
  if (!a || a.slot !== b.slot || a.group !== b.group) return false;
  if (!a.offsets || !b.offsets) return !a.offsets && !b.offsets;
  return a.offsets.every((/** @type {number} */ offset, /** @type {number} */ n) => offset === b.offsets[n]);
}
