/**
 * What the encoders of dispatches share: GPUBindingCommandsMixin, GPUDebugCommandsMixin and GPUBundledCommandsMixin. Commands
 * are validated and kept as data; nothing reaches the browser before an execution.
 */

import { expectType, refuseConstruction, toLabel, toOffsets, toU32, toU64 } from './convert.js';
import { caught, generate, report } from './errors.js';
import { record, recordOf } from './records.js';
import { bind, rehearse } from './replay.js';
import { broken } from './rules.js';

/**
 * @typedef {{ slot: number, group?: undefined, offsets?: undefined } | { slot?: undefined, group: GPUBindGroup, offsets: Uint32Array | null }} Binding
 * @typedef {{ number: number, pipeline: GPUComputePipeline, groups: [number, Binding][], immediates: [number, Uint8Array][], size: [number, number, number],
 *   indirect: { buffer: GPUBuffer, offset: number } | null, slotted: boolean, markers: Marker[] }} Dispatch
 * @typedef {['pushDebugGroup' | 'popDebugGroup' | 'insertDebugMarker', string]} Marker
 */

/**
 * @param {object} encoder
 * @param {GPUDevice} device
 * @param {import('./records.js').Layout[]} slots
 */
export function begin(encoder, device, slots) {
  const state = {
    device,
    slots,
    state: 'open',
    /** @type {string | null} what made the encoder invalid first */
    error: null,
    groupDepth: 0,
    pipeline: null,
    /** @type {Binding[]} */
    groups: [],
    immediates: new Uint8Array(device.limits.maxImmediateSize ?? 0),
    immediatesSet: new Set(),
    /** @type {[number, Uint8Array][]} the immediates as dispatches see them; remade when they change */
    snapshot: [],
    /** @type {Dispatch[]} */
    dispatches: [],
    /** @type {Marker[]} debug commands since the last dispatch */
    markers: [],
    /** @type {Map<GPUBindGroup, [number, Uint32Array | null]>} */
    usedGroups: new Map(),
    /** @type {((pass: GPUComputePassEncoder) => void)[]} the same calls for the browser's own verdict */
    rehearsal: [],
  };
  record(encoder, state);
  return state;
}

/**
 * Runs the device timeline steps of a command. They return what is wrong, which makes the encoder invalid.
 * @param {object} encoder
 * @param {string} name
 * @param {(state: any) => string | null | undefined | void} steps
 */
export function command(encoder, name, steps) {
  const state = recordOf(encoder);
  if (state.state === 'ended') {
    generate(state.device, `${name}: the encoder has ended [encode-state]`);
  } else if (state.state === 'locked') {
    state.error ??= `${name}: a pass of the encoder is still open [encode-state]`;
  } else if (!state.error) {
    const wrong = steps(state);
    if (wrong) state.error = `${name}: ${wrong}`;
  }
}

/**
 * Asks the browser for what script cannot see: reports, in the current error scope, what it refuses of the same commands.
 * @param {any} state
 * @param {string} name
 * @param {(message: string) => void} invalidate
 */
export function askTheBrowser(state, name, invalidate) {
  if (!settings.rehearse) return;
  const { device, rehearsal } = state;
  const verdict = caught(device, () => rehearse(device, rehearsal));
  report(
    device,
    verdict.then((error) => {
      if (!error) return null;
      invalidate(error.message);
      return new GPUValidationError(`${name}: ${error.message}`);
    }),
  );
}

export const settings = { rehearse: true };

/** @abstract */
export class BundledCommands {
  /** @param {unknown} [token] @param {object} [descriptor] */
  constructor(token, descriptor) {
    refuseConstruction(token);
    this.label = toLabel(descriptor);
  }

  /** @param {GPUComputePipeline} pipeline */
  setPipeline(pipeline) {
    expectType(pipeline, GPUComputePipeline, 'the pipeline');
    command(this, 'setPipeline', (state) => {
      const wrong = broken('pipeline-valid', state.device, pipeline);
      if (wrong) return wrong;
      state.pipeline = pipeline;
      state.rehearsal.push((/** @type {GPUComputePassEncoder} */ pass) => pass.setPipeline(pipeline));
    });
  }

  /** @param {number} index @param {number} slot */
  setBindGroupSlot(index, slot) {
    index = toU32(index, 'the index');
    slot = toU32(slot, 'the slot');
    command(this, 'setBindGroupSlot', (state) => {
      const wrong = broken('slot-index', state.device, index) ?? broken('slot-number', state.slots, slot);
      if (wrong) return wrong;
      state.groups[index] = { slot };
      state.rehearsal.push((/** @type {GPUComputePassEncoder} */ pass) => pass.setBindGroup(index, null));
    });
  }

  /**
   * @param {number} index
   * @param {GPUBindGroup | null} group
   * @param {Iterable<number>} [dynamicOffsets]
   * @param {number} [start]
   * @param {number} [length]
   */
  setBindGroup(index, group, dynamicOffsets = [], start = undefined, length = undefined) {
    index = toU32(index, 'the index');
    if (group) expectType(group, GPUBindGroup, 'the bind group');
    const offsets = start === undefined ? toOffsets(dynamicOffsets) : part(dynamicOffsets, start, length);
    command(this, 'setBindGroup', (state) => {
      const wrong = broken('group-index', state.device, index) ?? (group ? brokenGroup(state.device, group, offsets) : null);
      if (wrong) return wrong;
      state.groups[index] = group ? { group, offsets } : undefined;
      if (group) state.usedGroups.set(group, [index, offsets]);
      state.rehearsal.push((/** @type {GPUComputePassEncoder} */ pass) => bind(pass, index, { group, offsets }));
    });
  }

  /**
   * @param {number} rangeOffset
   * @param {any} data
   * @param {number} [dataOffset]
   * @param {number} [dataSize]
   */
  setImmediates(rangeOffset, data, dataOffset = 0, dataSize = undefined) {
    rangeOffset = toU32(rangeOffset, 'the offset');
    const bytes = copied(data, toU64(dataOffset, 'the data offset'), dataSize);
    command(this, 'setImmediates', (state) => {
      const wrong = broken('immediates-range', state.device, rangeOffset, bytes.length);
      if (wrong) return wrong;
      state.immediates.set(bytes, rangeOffset);
      for (let word = rangeOffset / 4; word < (rangeOffset + bytes.length) / 4; word++) state.immediatesSet.add(word);
      state.snapshot = snapshot(state.immediates, state.immediatesSet);
      state.rehearsal.push((/** @type {any} */ pass) => pass.setImmediates(rangeOffset, bytes));
    });
  }

  /** @param {string} label */
  pushDebugGroup(label) {
    mark(this, 'pushDebugGroup', label, (state) => void state.groupDepth++);
  }

  popDebugGroup() {
    mark(this, 'popDebugGroup', '', (state) => broken('debug-balance', state) ?? void state.groupDepth--);
  }

  /** @param {string} label */
  insertDebugMarker(label) {
    mark(this, 'insertDebugMarker', label, () => null);
  }

  /** @param {number} x @param {number} [y] @param {number} [z] */
  dispatchWorkgroups(x, y = 1, z = 1) {
    const size = [toU32(x, 'the x dimension'), toU32(y, 'the y dimension'), toU32(z, 'the z dimension')];
    command(this, 'dispatchWorkgroups', (state) => {
      const wrong = broken('dispatch-size', state.device, size) ?? brokenDispatch(state, null);
      if (wrong) return wrong;
      add(state, size, null);
    });
  }

  /** @param {GPUBuffer} buffer @param {number} offset */
  dispatchWorkgroupsIndirect(buffer, offset) {
    expectType(buffer, GPUBuffer, 'the indirect buffer');
    offset = toU64(offset, 'the indirect offset');
    command(this, 'dispatchWorkgroupsIndirect', (state) => {
      const indirect = { buffer, offset };
      const wrong =
        broken('indirect-valid', state.device, buffer) ??
        broken('indirect-usage', buffer) ??
        broken('indirect-range', buffer, offset) ??
        broken('indirect-alignment', offset) ??
        brokenDispatch(state, indirect);
      if (wrong) return wrong;
      add(state, [0, 0, 0], indirect);
    });
  }
}

/**
 * What is wrong with the bindings of an execution.
 * @param {{ device: GPUDevice, slots: any[], dispatches: Dispatch[] }} target
 * @param {{ group: GPUBindGroup, offsets: Uint32Array | null }[]} bindings
 */
export function brokenBindings({ device, slots, dispatches }, bindings) {
  return (
    broken('binding-count', slots, bindings) ??
    broken('binding-valid', device, bindings) ??
    broken('binding-layout', slots, bindings) ??
    broken('binding-offset-count', bindings) ??
    broken('binding-offset-alignment', device, bindings) ??
    broken('binding-offset-range', bindings) ??
    broken('binding-complete', dispatches, bindings)
  );
}

/**
 * @param {GPUDevice} device
 * @param {GPUBindGroup} group
 * @param {Uint32Array | null} offsets
 */
function brokenGroup(device, group, offsets) {
  return (
    broken('group-valid', device, group) ??
    broken('group-offset-count', group, offsets) ??
    broken('group-offset-alignment', device, group, offsets) ??
    broken('group-offset-range', group, offsets)
  );
}

/**
 * @param {any} state
 * @param {Dispatch['indirect']} indirect
 */
function brokenDispatch({ pipeline, groups, slots }, indirect) {
  const wrong = broken('dispatch-pipeline', pipeline);
  if (wrong) return wrong;
  const layouts = recordOf(pipeline).groups ?? [];
  const bound = used(pipeline, groups, slots);
  return (
    broken('dispatch-groups-set', layouts, groups) ??
    broken('dispatch-slot-layout', layouts, groups, slots) ??
    broken('dispatch-group-layout', layouts, groups) ??
    (bound.some(([, each]) => each.slot !== undefined)
      ? null
      : (broken('complete-usage-scope', bound, indirect) ?? broken('complete-aliasing', bound)))
  );
}

/**
 * The bindings that a dispatch sees: those at the indices that the layout of its pipeline uses. Which they are for "auto" is
 * not known, but only groups and slots that are made for this pipeline can be right; the rehearsal finds what is missing.
 * @param {GPUComputePipeline} pipeline
 * @param {Binding[]} groups
 * @param {import('./records.js').Layout[]} slots
 * @returns {[number, Binding][]}
 */
function used(pipeline, groups, slots) {
  const layouts = recordOf(pipeline).groups;
  const fits = (/** @type {Binding} */ { slot, group }) => (group ? recordOf(group).layout : slots[slot]).exclusive === pipeline;
  return [...groups.entries()].filter(([index, each]) => each && (layouts ? layouts[index] : fits(each)));
}

/**
 * @param {any} state
 * @param {number[]} size
 * @param {Dispatch['indirect']} indirect
 */
function add(state, size, indirect) {
  const groups = used(state.pipeline, state.groups, state.slots);
  const slotted = groups.some(([, each]) => each.slot !== undefined);
  state.dispatches.push({
    number: state.dispatches.length,
    pipeline: state.pipeline,
    groups,
    immediates: state.snapshot,
    size,
    indirect,
    slotted,
    markers: state.markers,
  });
  state.markers = [];
  if (slotted) return; // what a slot will hold is not known; executions are validated
  state.rehearsal.push((/** @type {GPUComputePassEncoder} */ pass) => {
    if (indirect) pass.dispatchWorkgroupsIndirect(indirect.buffer, indirect.offset);
    else pass.dispatchWorkgroups(size[0], size[1], size[2]);
  });
}

/**
 * @param {BundledCommands} encoder
 * @param {Marker[0]} name
 * @param {string} label
 * @param {(state: any) => string | null | void} steps
 */
function mark(encoder, name, label, steps) {
  label = String(label);
  command(encoder, name, (state) => {
    const wrong = steps(state);
    if (wrong) return wrong;
    state.markers.push([name, label]);
  });
}

/**
 * Runs of words that are set, as they are given to the browser.
 * @param {Uint8Array} bytes
 * @param {Set<number>} words
 * @returns {[number, Uint8Array][]}
 */
function snapshot(bytes, words) {
  const found = /** @type {[number, Uint8Array][]} */ ([]);
  for (let start = 0; start < bytes.length / 4; start++) {
    let end = start;
    while (words.has(end)) end++;
    if (end > start) found.push([4 * start, bytes.slice(4 * start, 4 * end)]);
    start = end;
  }
  return found;
}

/**
 * @param {any} data
 * @param {number} start
 * @param {number | undefined} length
 */
function part(data, start, length) {
  if (!(data instanceof Uint32Array)) throw new TypeError('dynamic offsets with a start must be a Uint32Array');
  const count = toU32(length, 'the length');
  if (start < 0 || start + count > data.length) throw new RangeError('the dynamic offsets reach past the end of their array');
  return count ? data.slice(start, start + count) : null;
}

/**
 * @param {any} data
 * @param {number} offset
 * @param {number | undefined} size
 */
function copied(data, offset, size) {
  const unit = ArrayBuffer.isView(data) && 'BYTES_PER_ELEMENT' in data ? Number(data.BYTES_PER_ELEMENT) : 1;
  const buffer = ArrayBuffer.isView(data) ? data.buffer : data;
  const start = ArrayBuffer.isView(data) ? data.byteOffset : 0;
  const count = (size ?? data.byteLength / unit - offset) * unit;
  if (count < 0 || offset * unit + count > data.byteLength || count % 4) {
    throw new DOMException(`${count} bytes at ${offset * unit} are no part of the data, or no multiple of 4`, 'OperationError');
  }
  return new Uint8Array(buffer, start + offset * unit, count).slice();
}
