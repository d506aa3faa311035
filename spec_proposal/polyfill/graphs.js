/** Part B, a prototype: GPUCommandGraph, its encoders, and submitGraph. */

import { beginWithSlots, bindUnused, brokenFinish, checkedBindings, toBindings, unusedGroups } from './bundles.js';
import { ILLEGAL, expectType, refuseConstruction, toLabel, toU64 } from './convert.js';
import { generate, isLost } from './errors.js';
import { FEATURE } from './limits.js';
import { BundledCommands, askTheBrowser, begin, command } from './recorder.js';
import { record, recordOf } from './records.js';
import { markAll, planOf, walk } from './replay.js';
import { broken } from './rules.js';

export class GPUCommandGraph {
  /** @param {unknown} [token] @param {object} [descriptor] */
  constructor(token, descriptor) {
    refuseConstruction(token);
    this.label = toLabel(descriptor);
  }
}

export class GPUCommandGraphPassEncoder extends BundledCommands {
  end() {
    const state = recordOf(this);
    const { parent } = state;
    if (state.state !== 'open') {
      generate(state.device, 'end: the pass has ended [encode-state]');
      return;
    }
    state.state = 'ended';
    parent.state = 'open';
    const wrong = broken('graph-pass-end', state);
    if (wrong) {
      parent.error ??= wrong;
      return;
    }
    const unused = unusedGroups(state);
    parent.parts.push({ kind: 'pass', dispatches: state.dispatches, markers: state.markers, unused });
    parent.dispatches.push(...state.dispatches);
    parent.rehearsal.push(...state.rehearsal);
  }
}

export class GPUCommandGraphEncoder {
  /** @param {unknown} [token] @param {object} [descriptor] */
  constructor(token, descriptor) {
    refuseConstruction(token);
    this.label = toLabel(descriptor);
  }

  /** @param {object} [descriptor] */
  beginComputePass(descriptor = {}) {
    const pass = new GPUCommandGraphPassEncoder(ILLEGAL, descriptor);
    const parent = recordOf(this);
    const state = begin(pass, parent.device, parent.slots);
    Object.assign(state, { parent });
    command(this, 'beginComputePass', () => void (parent.state = 'locked'));
    if (parent.error) state.error = parent.error;
    return pass;
  }

  /**
   * @param {GPUBuffer} source
   * @param {number} sourceOffset
   * @param {GPUBuffer} destination
   * @param {number} destinationOffset
   * @param {number} size
   */
  copyBufferToBuffer(source, sourceOffset, destination, destinationOffset, size) {
    expectType(source, GPUBuffer, 'the source');
    expectType(destination, GPUBuffer, 'the destination');
    const args = [source, toU64(sourceOffset, 'the source offset'), destination, toU64(destinationOffset, 'the destination offset'), toU64(size, 'the size')];
    command(this, 'copyBufferToBuffer', (state) => {
      const wrong = broken('graph-copy', state.device, ...args);
      if (wrong) return wrong;
      state.parts.push({ kind: 'call', name: 'copyBufferToBuffer', args });
    });
  }

  /** @param {GPUBuffer} buffer @param {number} [offset] @param {number} [size] */
  clearBuffer(buffer, offset = 0, size) {
    expectType(buffer, GPUBuffer, 'the buffer');
    const start = toU64(offset, 'the offset');
    const length = size === undefined ? buffer.size - start : toU64(size, 'the size');
    command(this, 'clearBuffer', (state) => {
      const wrong = broken('graph-clear', state.device, buffer, start, length);
      if (wrong) return wrong;
      state.parts.push({ kind: 'call', name: 'clearBuffer', args: [buffer, start, length] });
    });
  }

  /** @param {string} label */
  pushDebugGroup(label) {
    mark(this, 'pushDebugGroup', [String(label)], (state) => void state.groupDepth++);
  }

  popDebugGroup() {
    mark(this, 'popDebugGroup', [], (state) => broken('debug-balance', state) ?? void state.groupDepth--);
  }

  /** @param {string} label */
  insertDebugMarker(label) {
    mark(this, 'insertDebugMarker', [String(label)], () => null);
  }

  /** @param {object} [descriptor] */
  finish(descriptor = {}) {
    const graph = new GPUCommandGraph(ILLEGAL, descriptor);
    const state = recordOf(this);
    const { device, slots, dispatches, parts } = state;
    const calls = parts.filter((/** @type {any} */ each) => each.kind === 'call').length;
    const error = brokenFinish(state, dispatches.length + calls);
    const content = /** @type {any} */ ({ device, slots, dispatches, error, passed: [] });
    record(graph, content);
    state.state = 'ended';
    if (content.error) {
      if (!isLost(device)) generate(device, `finish of a graph: ${content.error}`);
      return graph;
    }
    content.parts = merged(parts);
    askTheBrowser(state, 'finish of a graph', (message) => (content.error = message));
    return graph;
  }
}

/** Adds Part B to the interfaces of the browser. */
export function installGraphs() {
  const device = /** @type {any} */ (GPUDevice.prototype);
  const queue = /** @type {any} */ (GPUQueue.prototype);
  device.createCommandGraphEncoder = createCommandGraphEncoder;
  queue.submitGraph = submitGraph;
}

/**
 * @this {GPUDevice}
 * @param {any} [descriptor]
 */
function createCommandGraphEncoder(descriptor = {}) {
  if (!this.features.has(/** @type {any} */ (FEATURE))) {
    throw new TypeError(`the device lacks the feature "${FEATURE}"; name it in requiredFeatures`);
  }
  const encoder = new GPUCommandGraphEncoder(ILLEGAL, descriptor);
  Object.assign(beginWithSlots(encoder, this, descriptor), { parts: [] });
  return encoder;
}

/**
 * @this {GPUQueue}
 * @param {GPUCommandGraph} graph
 * @param {Iterable<any>} [slotBindings]
 */
function submitGraph(graph, slotBindings = []) {
  expectType(graph, GPUCommandGraph, 'the graph');
  const bindings = toBindings(slotBindings);
  const content = recordOf(graph);
  const { device } = recordOf(this);
  const wrong = broken('graph-submit-valid', device, content) ?? checkedBindings(content, bindings);
  if (wrong) {
    generate(device, `submitGraph: ${wrong}`);
    return;
  }
  const encoder = device.createCommandEncoder();
  for (const part of content.parts) {
    if (part.kind === 'call') encoder[part.name](...part.args);
    else encodePass(encoder, part, bindings);
  }
  this.submit([encoder.finish()]);
}

/**
 * @param {GPUCommandEncoder} encoder
 * @param {any} part
 * @param {ReturnType<typeof toBindings>} bindings
 */
function encodePass(encoder, { plan, unused, markers }, bindings) {
  const pass = encoder.beginComputePass();
  bindUnused(pass, unused, bindings);
  walk(pass, plan, bindings);
  markAll(pass, markers);
  pass.end();
}

/**
 * Passes that follow each other become one: nothing tells them apart, and each costs the browser.
 * @param {any[]} parts
 */
function merged(parts) {
  const found = /** @type {any[]} */ ([]);
  for (const part of parts) {
    const last = found.at(-1);
    if (part.kind === 'pass' && last?.kind === 'pass' && !last.markers.length) {
      last.dispatches = [...last.dispatches, ...part.dispatches];
      last.unused = [...last.unused, ...part.unused];
      last.markers = part.markers;
    } else {
      found.push({ ...part });
    }
  }
  return found.map((part) => (part.kind === 'pass' ? { ...part, plan: planOf(part.dispatches) } : part));
}

/**
 * @param {GPUCommandGraphEncoder} encoder
 * @param {string} name
 * @param {string[]} args
 * @param {(state: any) => string | null | void} steps
 */
function mark(encoder, name, args, steps) {
  command(encoder, name, (state) => {
    const wrong = steps(state);
    if (wrong) return wrong;
    state.parts.push({ kind: 'call', name, args, marker: true });
  });
}
