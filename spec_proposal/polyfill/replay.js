/** Puts recorded dispatches into a pass of the browser: only what changes from one to the next is set. */

/** @typedef {import('./recorder.js').Dispatch} Dispatch */
/** @typedef {{ group: GPUBindGroup, offsets: Uint32Array | null }} Bound */

/**
 * What to set before dispatches, and the dispatches: STRIDE values for each, one behind the other in one array. A page that waits for
 * the GPU between replays finds its caches cold, so what counts is how much memory a replay reads.
 *
 * The values are: a pipeline or null for as before; the index of the first group to set or -1 for none; the group, null where it is a
 * slot's; workgroups along x; a `Rest`, null for the most common kind, which sets a group and dispatches along x.
 * @typedef {any[]} Plan
 */

/**
 * @typedef {object} Rest
 * @property {Uint32Array | null} offsets
 * @property {number} slot
 * @property {[number, import('./recorder.js').Binding][] | null} more further groups to set
 * @property {[number, Uint8Array][] | null} immediates
 * @property {import('./recorder.js').Marker[] | null} markers
 * @property {number} y
 * @property {number} z
 * @property {{ buffer: GPUBuffer, offset: number } | null} indirect
 */

const STRIDE = 5;

/** @type {any} the browser's own methods, without our notes: for a rehearsal */
let native;

export function installReplay() {
  const { end } = GPUComputePassEncoder.prototype;
  const { beginComputePass, finish } = GPUCommandEncoder.prototype;
  const { createCommandEncoder } = GPUDevice.prototype;
  native = { end, beginComputePass, finish, createCommandEncoder };
}

/**
 * The plan for dispatches that follow each other in a pass; the first sets everything.
 * @param {Dispatch[]} dispatches
 * @returns {Plan}
 */
export function planOf(dispatches) {
  const set = { pipeline: null, immediates: null, groups: [] };
  return dispatches.flatMap((dispatch) => stepOf(dispatch, set));
}

/**
 * @param {GPUComputePassEncoder} pass
 * @param {Plan} plan
 * @param {Bound[]} bindings what the slots hold
 */
export function walk(pass, plan, bindings) {
  const end = plan.length;
  for (let n = 0; n < end; n += STRIDE) {
    const pipeline = plan[n];
    const rest = plan[n + 4];
    if (rest !== null && rest.markers !== null) markAll(pass, rest.markers);
    if (pipeline !== null) pass.setPipeline(pipeline);
    if (rest === null) {
      pass.setBindGroup(plan[n + 1], plan[n + 2]);
      pass.dispatchWorkgroups(plan[n + 3]);
    } else {
      bindAll(pass, plan[n + 1], plan[n + 2], rest, bindings);
      if (rest.indirect === null) pass.dispatchWorkgroups(plan[n + 3], rest.y, rest.z);
      else pass.dispatchWorkgroupsIndirect(rest.indirect.buffer, rest.indirect.offset);
    }
  }
}

/**
 * @param {GPUComputePassEncoder} pass
 * @param {number} index
 * @param {GPUBindGroup | null} group
 * @param {Rest} rest
 * @param {Bound[]} bindings
 */
function bindAll(pass, index, group, { offsets, slot, more, immediates }, bindings) {
  if (index >= 0) bind(pass, index, group === null ? bindings[slot] : { group, offsets });
  if (more !== null) {
    for (const [at, each] of more) bind(pass, at, each.slot === undefined ? each : bindings[each.slot]);
  }
  if (immediates !== null) {
    for (const [offset, bytes] of immediates) /** @type {any} */ (pass).setImmediates(offset, bytes);
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
 * @returns {Plan} of this one
 */
function stepOf({ pipeline, groups, immediates, size: [x, y, z], indirect, markers }, set) {
  const changed = groups.filter(([index, each]) => !same(set.groups[index], each));
  const [[index, first], ...more] = changed.length ? changed : [[-1, { slot: -1 }]];
  const group = first.group ?? null;
  const rest = {
    offsets: first.offsets ?? null,
    slot: first.slot ?? -1,
    more: more.length ? more : null,
    immediates: immediates === set.immediates || !immediates.length ? null : immediates,
    markers: markers.length ? markers : null,
    y,
    z,
    indirect,
  };
  const plain = group && !rest.offsets && !rest.more && !rest.immediates && !rest.markers && !indirect && y === 1 && z === 1;
  const step = [pipeline === set.pipeline ? null : pipeline, index, group, x, plain ? null : rest];
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
