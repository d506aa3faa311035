/**
 * The rules of the text that script can check, each named as its sentence in index.bs. A rule returns what is wrong, or
 * nothing. What script cannot see (what a shader reads, whether an object of WebGPU is valid) the browser checks: when an
 * encoder finishes the same commands are rehearsed (see recorder.js), and every execution is validated as any pass.
 */

import { equivalent, recordOf } from './records.js';

/** @typedef {import('./records.js').Layout} Layout */
/** @typedef {import('./records.js').Group} Group */
/** @typedef {{ group: GPUBindGroup, offsets: Uint32Array | null }} Bound */
/** @typedef {{ name: string, entry: import('./records.js').Entry, resource: object, spans: [number, number][], writes: boolean }} Use */

const MISFIT = 'has another layout than the pipeline expects';

/** @type {Record<string, (...args: any[]) => string | null | undefined | false>} */
export const rules = {
  // -- creation and end of an encoder --

  'create-slot-count': (device, slots) => over(device, slots.length, 'maxComputeBundleSlots', 'slots'),
  'create-slot-layouts': (device, slots) => firstWrong(slots, (each, slot) => foreign(device, each, `the layout of slot ${slot}`)),
  'finish-valid': (state) => state.error,
  'finish-open': (state) => state.state !== 'open' && `the encoder is ${state.state}`,
  'finish-debug-groups': openGroups,
  'finish-command-count': (device, count) => over(device, count, 'maxComputeBundleCommands', 'commands'),

  // -- state --

  'pipeline-valid': (device, pipeline) => foreign(device, pipeline, 'the pipeline'),
  'slot-index': tooLarge,
  'slot-number': (slots, slot) => slot >= slots.length && `slot ${slot} does not exist; there are ${slots.length}`,
  'group-valid': (device, group) => foreign(device, group, 'the bind group'),
  'group-index': tooLarge,
  'group-offset-count': offsetCount,
  'group-offset-alignment': offsetAlignment,
  'group-offset-range': offsetRange,
  'immediates-range': (device, start, size) => {
    const limit = device.limits.maxImmediateSize ?? 0;
    if (start % 4) return `immediates start at ${start}, which is not a multiple of 4`;
    return start + size > limit && `immediates end at ${start + size}, beyond maxImmediateSize (${limit})`;
  },
  'debug-balance': (state) => state.groupDepth === 0 && 'no debug group is open',

  // -- dispatches --

  'dispatch-size': (device, sizes) => over(device, Math.max(...sizes), 'maxComputeWorkgroupsPerDimension', 'workgroups in a dimension'),
  'dispatch-pipeline': (pipeline) => !pipeline && 'no pipeline is set',
  'dispatch-groups-set': (layouts, groups) =>
    firstWrong(layouts, (layout, index) => layout && !groups[index] && `the pipeline needs a bind group at index ${index}`),
  'dispatch-slot-layout': (layouts, groups, slots) =>
    firstWrong(layouts, (layout, index) => {
      const slot = groups[index]?.slot;
      return layout && slot !== undefined && !equivalent(slots[slot], layout) &&
        `slot ${slot} at index ${index} ${MISFIT}`;
    }),
  'dispatch-group-layout': (layouts, groups) =>
    firstWrong(layouts, (layout, index) => {
      const group = groups[index]?.group;
      return layout && group && !equivalent(recordOf(group).layout, layout) &&
        `the bind group at index ${index} ${MISFIT}`;
    }),
  'indirect-valid': (device, buffer) => foreign(device, buffer, 'the indirect buffer'),
  'indirect-usage': (buffer) => without(buffer, 'INDIRECT', 'the indirect buffer'),
  'indirect-range': (buffer, offset) =>
    offset + 12 > buffer.size && `12 bytes at ${offset} reach past the end of the indirect buffer (${buffer.size} bytes)`,
  'indirect-alignment': (offset) => offset % 4 !== 0 && `the indirect offset ${offset} is not a multiple of 4`,
  'complete-usage-scope': (bound, indirect) => {
    for (const uses of sharedResources(bound, indirect)) {
      const writers = uses.filter((use) => use.writes);
      for (const reader of uses.filter((use) => !use.writes)) {
        const writer = writers.find((each) => !each.texture || meets(each, reader));
        if (writer) return `one dispatch uses a resource as ${writer.name}, which writes, and as ${reader.name}`;
      }
    }
    return null;
  },
  'complete-aliasing': (bound) => {
    for (const uses of sharedResources(bound, null)) {
      const visible = uses.filter((use) => use.entry.visibility & GPUShaderStage.COMPUTE);
      for (const [position, one] of visible.entries()) {
        const other = visible.slice(position + 1).find((each) => (one.writes || each.writes) && meets(one, each));
        if (other) return `${one.name} and ${other.name} overlap, and one of them writes`;
      }
    }
    return null;
  },

  // -- executions --

  'execute-state': (encoder) => !encoder && 'the pass has ended, or is older than the polyfill',
  'execute-bundle-valid': (device, bundle) => bundle.error ?? (bundle.device !== device && 'the bundle belongs to another device'),
  'binding-count': (slots, bindings) =>
    bindings.length !== slots.length && `${bindings.length} bindings are given for ${slots.length} slots`,
  'binding-valid': (device, bindings) => firstWrong(bindings, (each, slot) => foreign(device, each.group, `the bind group for slot ${slot}`)),
  'binding-layout': (slots, bindings) =>
    firstWrong(bindings, (each, slot) =>
      !equivalent(recordOf(each.group).layout, slots[slot]) && `the bind group for slot ${slot} has another layout`),
  'binding-offset-count': (bindings) => firstWrong(bindings, (each, slot) => of(slot, offsetCount(each.group, each.offsets))),
  'binding-offset-alignment': (device, bindings) =>
    firstWrong(bindings, (each, slot) => of(slot, offsetAlignment(device, each.group, each.offsets))),
  'binding-offset-range': (bindings) => firstWrong(bindings, (each, slot) => of(slot, offsetRange(each.group, each.offsets))),
  'binding-complete': (dispatches, bindings) => {
    for (const dispatch of dispatches) {
      if (!dispatch.slotted) continue;
      const bound = dispatch.groups.map(([index, each]) => [index, each.slot === undefined ? each : bindings[each.slot]]);
      const wrong = broken('complete-usage-scope', bound, dispatch.indirect) ?? broken('complete-aliasing', bound);
      if (wrong) return `dispatch ${dispatch.number}: ${wrong}`;
    }
    return null;
  },

  // -- graphs --

  'graph-submit-valid': (device, graph) => graph.error ?? (graph.device !== device && 'the graph belongs to another device'),
  'graph-copy': (device, source, sourceOffset, destination, destinationOffset, size) =>
    foreign(device, source, 'the source') ||
    foreign(device, destination, 'the destination') ||
    (source === destination && 'source and destination are the same buffer') ||
    without(source, 'COPY_SRC', 'the source') ||
    without(destination, 'COPY_DST', 'the destination') ||
    outside(source, sourceOffset, size, 'the source range') ||
    outside(destination, destinationOffset, size, 'the destination range'),
  'graph-clear': (device, buffer, offset, size) =>
    foreign(device, buffer, 'the buffer') ||
    without(buffer, 'COPY_DST', 'the buffer') ||
    outside(buffer, offset, size, 'the range'),
  'graph-pass-end': (pass) => pass.error ?? openGroups(pass),
};

/**
 * What is wrong by a rule, with its name; null if nothing is.
 * @param {string} name
 * @param {...any} args
 * @returns {string | null}
 */
export function broken(name, ...args) {
  const wrong = rules[name](...args);
  return wrong ? (wrong.endsWith(']') ? wrong : `${wrong} [${name}]`) : null;
}

/**
 * @param {any} items
 * @param {(item: any, index: number) => string | null | undefined | false} check
 */
function firstWrong(items, check) {
  for (let index = 0; index < items.length; index++) {
    const wrong = check(items[index], index);
    if (wrong) return wrong;
  }
  return null;
}

/**
 * @param {any} device
 * @param {number} count
 * @param {string} limit
 * @param {string} things
 */
function over({ limits }, count, limit, things) {
  return count > limits[limit] && `${count} ${things} are more than ${limit} (${limits[limit]})`;
}

/** @param {{ groupDepth: number }} state */
function openGroups({ groupDepth }) {
  return groupDepth > 0 && `${groupDepth} debug groups are still open`;
}

/**
 * @param {GPUBuffer} buffer
 * @param {'INDIRECT' | 'COPY_SRC' | 'COPY_DST'} usage
 * @param {string} name
 */
function without(buffer, usage, name) {
  return !(buffer.usage & GPUBufferUsage[usage]) && `${name} lacks the usage ${usage}`;
}

/**
 * @param {GPUDevice} device
 * @param {object} object
 * @param {string} name
 */
function foreign(device, object, name) {
  const known = recordOf(object);
  if (!known) return `${name} was made before the polyfill was installed`;
  return known.device !== device && `${name} belongs to another device`;
}

/**
 * @param {GPUDevice} device
 * @param {number} index
 */
function tooLarge(device, index) {
  return index >= device.limits.maxBindGroups && `index ${index} is not below maxBindGroups (${device.limits.maxBindGroups})`;
}

/**
 * @param {number} slot
 * @param {string | null | undefined | false} wrong
 */
function of(slot, wrong) {
  return wrong && `slot ${slot}: ${wrong}`;
}

/**
 * @param {GPUBindGroup} group
 * @param {Uint32Array | null} offsets
 */
function offsetCount(group, offsets) {
  const { layout } = recordOf(group);
  const given = offsets?.length ?? 0;
  return layout?.entries && given !== layout.dynamic.length &&
    `${given} dynamic offsets are given for ${layout.dynamic.length} dynamic bindings`;
}

/**
 * @param {GPUDevice} device
 * @param {GPUBindGroup} group
 * @param {Uint32Array | null} offsets
 */
function offsetAlignment({ limits }, group, offsets) {
  return firstWrong(recordOf(group).layout.dynamic, ({ type, binding }, position) => {
    const unit = type === 'uniform' ? limits.minUniformBufferOffsetAlignment : limits.minStorageBufferOffsetAlignment;
    const offset = offsets?.[position] ?? 0;
    return offset % unit !== 0 && `the dynamic offset ${offset} of binding ${binding} is not a multiple of ${unit}`;
  });
}

/**
 * @param {GPUBindGroup} group
 * @param {Uint32Array | null} offsets
 */
function offsetRange(group, offsets) {
  const { layout, bindings } = recordOf(group);
  return firstWrong(layout.dynamic, ({ binding }, position) => {
    const bound = bindings.find((/** @type {any} */ each) => each.binding === binding);
    const end = bound?.buffer ? bound.offset + bound.size + (offsets?.[position] ?? 0) : 0;
    return end > (bound?.buffer?.size ?? 0) && `with its dynamic offset binding ${binding} ends at ${end}, past the end of the buffer`;
  });
}

/**
 * @param {GPUBuffer} buffer
 * @param {number} offset
 * @param {number} size
 * @param {string} name
 */
function outside(buffer, offset, size, name) {
  if (offset % 4 || size % 4) return `${name} (${size} bytes at ${offset}) is not a multiple of 4`;
  return (size < 0 || offset + size > buffer.size) && `${name} (${size} bytes at ${offset}) reaches past the end of the buffer`;
}

/**
 * The resources that a dispatch uses more than once, with each use.
 * @param {[number, Bound][]} bound
 * @param {{ buffer: GPUBuffer } | null} indirect
 * @returns {Iterable<any[]>}
 */
function sharedResources(bound, indirect) {
  const found = new Map();
  const add = (/** @type {object} */ resource, /** @type {any} */ use) => {
    const uses = found.get(resource);
    if (uses) uses.push(use);
    else found.set(resource, [use]);
  };
  for (const [index, { group, offsets }] of bound) {
    const { layout, bindings } = recordOf(group);
    for (const { entry, buffer, texture, mips, layers, offset, size } of bindings) {
      if (!entry) continue; // made with "auto": the browser knows
      const name = `binding ${entry.binding} of group ${index}`;
      if (buffer) {
        const moved = offset + (entry.dynamic ? (offsets?.[layout.dynamic.indexOf(entry)] ?? 0) : 0);
        add(buffer, { name, entry, writes: entry.type === 'storage', spans: [[moved, moved + size]] });
      } else if (texture) {
        const writes = entry.kind === 'storageTexture' && entry.type !== 'read-only';
        add(texture, { name, entry, writes, spans: [mips, layers], texture });
      }
    }
  }
  if (indirect) add(indirect.buffer, { name: 'the indirect arguments', writes: false, spans: [] });
  return [...found.values()].filter((uses) => uses.length > 1);
}

/**
 * @param {any} one
 * @param {any} other
 */
function meets(one, other) {
  return one.spans.every(([start, end], /** @type {number} */ n) => start < other.spans[n][1] && other.spans[n][0] < end);
}
