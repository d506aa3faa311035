/** Part A: GPUComputeBundle, its encoder, and executeBundle. */

import { ILLEGAL, expectType, refuseConstruction, toLabel, toOffsets } from './convert.js';
import { passes } from './encoders.js';
import { generate, isLost } from './errors.js';
import { BundledCommands, askTheBrowser, begin, brokenBindings } from './recorder.js';
import { record, recordOf } from './records.js';
import { bind, markAll, planOf, walk } from './replay.js';
import { broken } from './rules.js';

/** @type {any[]} */
const NONE = [];

/** How many sets of bindings a bundle remembers to be right. */
const REMEMBERED = 8;

export class GPUComputeBundle {
  /** @param {unknown} [token] @param {object} [descriptor] */
  constructor(token, descriptor) {
    refuseConstruction(token);
    this.label = toLabel(descriptor);
  }
}

export class GPUComputeBundleEncoder extends BundledCommands {
  /** @param {object} [descriptor] */
  finish(descriptor = {}) {
    const bundle = new GPUComputeBundle(ILLEGAL, descriptor);
    const state = recordOf(this);
    const { device, slots, dispatches, markers } = state;
    const error = brokenFinish(state);
    const content = /** @type {any} */ ({ device, slots, dispatches, markers, error, passed: [], indices: device.limits.maxBindGroups });
    record(bundle, content);
    state.state = 'ended';
    if (content.error) {
      if (!isLost(device)) generate(device, `finish of ${named(this)}: ${content.error}`);
      return bundle;
    }
    content.plan = planOf(dispatches);
    content.unused = unusedGroups(state);
    content.blank = blankOf(device);
    askTheBrowser(state, `finish of ${named(this)}`, (message) => (content.error = message));
    state.rehearsal = [];
    return bundle;
  }
}

/** Adds Part A to the interfaces of the browser. */
export function installBundles() {
  const device = /** @type {any} */ (GPUDevice.prototype);
  const pass = /** @type {any} */ (GPUComputePassEncoder.prototype);
  device.createComputeBundleEncoder = createComputeBundleEncoder;
  pass.executeBundle = executeBundle;
}

/**
 * @this {GPUDevice}
 * @param {any} [descriptor]
 */
function createComputeBundleEncoder(descriptor = {}) {
  const encoder = new GPUComputeBundleEncoder(ILLEGAL, descriptor);
  beginWithSlots(encoder, this, descriptor);
  return encoder;
}

/**
 * Begins an encoder with the slots of its descriptor; an error of the device and an invalid encoder if they are wrong.
 * @param {BundledCommands | object} encoder
 * @param {GPUDevice} device
 * @param {any} descriptor
 */
export function beginWithSlots(encoder, device, descriptor) {
  const layouts = [...(descriptor?.slots ?? [])];
  for (const each of layouts) expectType(each, GPUBindGroupLayout, 'the layout of a slot');
  const wrong = broken('create-slot-count', device, layouts) ?? broken('create-slot-layouts', device, layouts);
  const state = begin(encoder, device, layouts.map(recordOf));
  if (wrong) {
    state.error = wrong;
    generate(device, `creation of an encoder: ${wrong}`);
  }
  return state;
}

/**
 * @param {any} state
 * @param {number} [count]
 */
export function brokenFinish(state, count = state.dispatches.length) {
  return (
    broken('finish-valid', state) ??
    broken('finish-open', state) ??
    broken('finish-debug-groups', state) ??
    broken('finish-command-count', state.device, count)
  );
}

/**
 * `sequence<(GPUBindGroup or GPUSlotBinding)>`
 * @param {Iterable<any>} [sources]
 * @returns {{ group: GPUBindGroup, offsets: Uint32Array | null }[]}
 */
export function toBindings(sources = NONE) {
  if (sources instanceof Array && !sources.length) return NONE; // the common case
  return Array.from(sources, (source) => {
    if (source instanceof GPUBindGroup) return { group: source, offsets: null };
    expectType(source?.bindGroup, GPUBindGroup, 'the bind group of a slot');
    return { group: source.bindGroup, offsets: toOffsets(source.dynamicOffsets) };
  });
}

/**
 * What is wrong with the bindings; combinations that were right are remembered.
 * @param {any} content of a bundle or graph
 * @param {ReturnType<typeof toBindings>} bindings
 */
export function checkedBindings(content, bindings) {
  if (bindings === NONE && !content.slots.length) return null;
  if (content.passed.some((/** @type {any} */ past) => sameBindings(past, bindings))) return null;
  const wrong = brokenBindings(content, bindings);
  if (!wrong) {
    content.passed.unshift(bindings);
    content.passed.length = Math.min(content.passed.length, REMEMBERED);
  }
  return wrong;
}

/**
 * @this {GPUComputePassEncoder}
 * @param {GPUComputeBundle} bundle
 * @param {Iterable<any>} [slotBindings]
 */
function executeBundle(bundle, slotBindings = NONE) {
  expectType(bundle, GPUComputeBundle, 'the bundle');
  const bindings = toBindings(slotBindings);
  const encoder = /** @type {import('./encoders.js').Note} */ (passes.of(this));
  const content = recordOf(bundle);
  const ended = broken('execute-state', encoder);
  if (ended) {
    generate(content.device, `executeBundle: ${ended}`);
    return;
  }
  const wrong = broken('execute-bundle-valid', encoder.device, content) ?? checkedBindings(content, bindings);
  if (wrong) {
    invalidate(this, encoder, `executeBundle of ${named(bundle)}: ${wrong}`);
    return;
  }
  bindUnused(this, content.unused, bindings);
  walk(this, content.plan, bindings);
  markAll(this, content.markers);
  reset(this, content);
}

/**
 * Makes a pass invalid: the browser by a call that is never valid, and its encoder remembers our reason.
 * @param {GPUComputePassEncoder} pass
 * @param {import('./encoders.js').Note} encoder
 * @param {string} message
 */
function invalidate(pass, encoder, message) {
  encoder.error ??= message;
  bind(pass, 0xffffffff, { group: null, offsets: null });
}

/** @type {WeakMap<GPUDevice, GPUComputePipeline>} */
const blanks = new WeakMap();

const BLANK = '@group(0) @binding(0) var<uniform> x: u32; @compute @workgroup_size(1) fn main() { _ = x; }';

/**
 * What stands for no pipeline, since a pass cannot be given none: one that no dispatch can use, because it wants a bind group of its own
 * layout and we make no such group.
 * @param {GPUDevice} device
 */
function blankOf(device) {
  let blank = blanks.get(device);
  if (!blank) {
    const module = device.createShaderModule({ code: BLANK });
    blanks.set(device, (blank = device.createComputePipeline({ layout: 'auto', compute: { module } })));
  }
  return blank;
}

/**
 * Resets the binding state of a pass. Immediates stay set: script cannot unset them.
 * @param {GPUComputePassEncoder} pass
 * @param {any} content of the bundle
 */
function reset(pass, { indices, blank }) {
  for (let index = 0; index < indices; index++) pass.setBindGroup(index, null);
  pass.setPipeline(blank);
}

/**
 * Groups that were set, and slots, that no dispatch sees: the browser and a submit look at them too.
 * @param {any} state
 * @returns {[number, import('./recorder.js').Binding][]}
 */
export function unusedGroups({ usedGroups, slots, dispatches }) {
  const seen = new Set(dispatches.flatMap((/** @type {any} */ each) => each.groups.map((/** @type {any} */ [, bound]) => bound.group ?? bound.slot)));
  const groups = [...usedGroups].map(([group, [index, offsets]]) => [index, { group, offsets }]);
  const all = /** @type {[number, any][]} */ ([...groups, ...[...slots.keys()].map((slot) => [0, { slot }])]);
  return all.filter(([, { group, slot }]) => !seen.has(group ?? slot));
}

/**
 * @param {GPUComputePassEncoder} pass
 * @param {[number, import('./recorder.js').Binding][]} unused
 * @param {ReturnType<typeof toBindings>} bindings
 */
export function bindUnused(pass, unused, bindings) {
  for (const [index, each] of unused) bind(pass, index, each.slot === undefined ? each : bindings[each.slot]);
}

/**
 * @param {any} past
 * @param {any} bindings
 */
function sameBindings(past, bindings) {
  return (
    past.length === bindings.length &&
    past.every((/** @type {any} */ each, /** @type {number} */ n) => {
      const { group, offsets } = bindings[n];
      return each.group === group && String(each.offsets) === String(offsets);
    })
  );
}

/** @param {{ label: string, constructor: Function }} object */
function named(object) {
  return object.label ? `${object.constructor.name} "${object.label}"` : object.constructor.name;
}
