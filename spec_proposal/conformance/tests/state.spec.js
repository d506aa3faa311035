import { group } from '../framework.js';
import { USAGE } from '../kit.js';

const g = group(import.meta.url);
const KINDS = ['bundle', 'graph'];

g.test('pipeline')
  .desc('setPipeline takes a valid pipeline of the same device, even if no dispatch uses it.')
  .covers('pipeline-valid')
  .params({ kind: KINDS, pipeline: ['valid', 'invalid', 'other device'] })
  .fn(async (t, { kind, pipeline }) => {
    const { encoder, finish } = t.recorder(kind);
    if (pipeline === 'valid') encoder.setPipeline(t.affine(1, 1));
    if (pipeline === 'invalid') encoder.setPipeline(await t.invalidPipeline());
    if (pipeline === 'other device') {
      const device = await t.newDevice();
      encoder.setPipeline(t.affine(1, 1, { device, layouts: [t.layout({ device })] }));
    }
    await finish(pipeline === 'valid');
    t.expectThrows('TypeError', () => encoder.setPipeline({}));
  });

g.test('slot_index')
  .desc('setBindGroupSlot names an index below maxBindGroups.')
  .covers('slot-index')
  .params({ kind: KINDS, beyond: [-4, -1, 0, 1] })
  .fn(async (t, { kind, beyond }) => {
    const { encoder, finish } = t.recorder(kind, [t.storage]);
    encoder.setBindGroupSlot(t.device.limits.maxBindGroups + beyond, 0);
    await finish(beyond < 0);
    t.expectThrows('TypeError', () => encoder.setBindGroupSlot(-1, 0));
    t.expectThrows('TypeError', () => encoder.setBindGroupSlot(0, 2 ** 32));
  });

g.test('slot_number')
  .desc('setBindGroupSlot names a slot that exists.')
  .covers('slot-number')
  .params({ kind: KINDS, slots: [0, 1, 3], beyond: [-1, 0, 1] })
  .fn(async (t, { kind, slots, beyond }) => {
    const slot = slots + beyond;
    if (slot < 0) return;
    const { encoder, finish } = t.recorder(kind, Array(slots).fill(t.storage));
    encoder.setBindGroupSlot(0, slot);
    await finish(slot < slots);
  });

g.test('group_index')
  .desc('setBindGroup names an index below maxBindGroups, also with null.')
  .covers('group-index')
  .params({ kind: KINDS, beyond: [-1, 0, 1], group: ['a group', null] })
  .fn(async (t, { kind, beyond, group: what }) => {
    const { encoder, finish } = t.recorder(kind);
    encoder.setBindGroup(t.device.limits.maxBindGroups + beyond, what && t.group(t.buffer()));
    await finish(beyond < 0);
  });

g.test('group')
  .desc('setBindGroup takes a valid group of the same device, even if no dispatch uses it. A destroyed buffer in it is no matter.')
  .covers('group-valid', 'lifetime-destroy')
  .params({ kind: KINDS, group: ['valid', 'invalid', 'other device', 'destroyed'] })
  .fn(async (t, { kind, group: what }) => {
    const { encoder, finish } = t.recorder(kind);
    const buffer = t.buffer();
    const made = t.group(buffer);
    if (what === 'destroyed') buffer.destroy();
    if (what === 'valid' || what === 'destroyed') encoder.setBindGroup(0, made);
    if (what === 'invalid') encoder.setBindGroup(0, await t.invalidGroup());
    if (what === 'other device') {
      const device = await t.newDevice();
      encoder.setBindGroup(0, t.group(t.buffer({ device }), { device, layout: t.layout({ device }) }));
    }
    await finish(what === 'valid' || what === 'destroyed');
  });

g.test('group_null')
  .desc('null removes the group at an index: a dispatch that needs it is refused, one that does not is not.')
  .covers('group-null')
  .params({ kind: KINDS, remove: [false, true] })
  .fn(async (t, { kind, remove }) => {
    const { encoder, finish } = t.recorder(kind);
    encoder.setPipeline(t.affine(1, 1));
    encoder.setBindGroup(0, t.group(t.buffer()));
    if (remove) encoder.setBindGroup(0, null);
    encoder.dispatchWorkgroups(1);
    await finish(!remove);
  });

g.test('slot_and_group')
  .desc('A slot replaces the group at its index, a group (or null) the slot: the last one counts.')
  .covers('slot-replaces-group', 'group-replaces-slot', 'slot-set', 'group-null')
  .params({ kind: KINDS, order: ['group slot', 'slot group', 'slot null', 'group slot group', 'slot group slot'] })
  .fn(async (t, { kind, order }) => {
    const { encoder, finish, run } = t.recorder(kind, [t.storage]);
    const [fixed, bound] = [t.buffer({ value: 0 }), t.buffer({ value: 0 })];
    encoder.setPipeline(t.affine(1, 1));
    for (const each of order.split(' ')) {
      if (each === 'slot') encoder.setBindGroupSlot(0, 0);
      else encoder.setBindGroup(0, each === 'group' ? t.group(fixed) : null);
    }
    encoder.dispatchWorkgroups(1);
    const made = await finish(!order.endsWith('null'));
    if (order.endsWith('null')) return;
    await run(made, [t.group(bound)]);
    await t.expectContents(fixed, order.endsWith('group') ? 1 : 0, 'the buffer of the group');
    await t.expectContents(bound, order.endsWith('slot') ? 1 : 0, 'the buffer of the slot');
  });

g.test('offset_count')
  .desc('One dynamic offset for each dynamic binding.')
  .covers('group-offset-count')
  .params({ kind: KINDS, dynamic: [false, true], offsets: [0, 1, 2] })
  .fn(async (t, { kind, dynamic, offsets }) => {
    const { encoder, finish } = t.recorder(kind);
    const made = t.group(t.buffer(), { layout: t.layout({ dynamic }), size: 16 });
    encoder.setBindGroup(0, made, Array(offsets).fill(0));
    await finish(offsets === (dynamic ? 1 : 0));
  });

g.test('offset_alignment')
  .desc('Dynamic offsets are multiples of the limit for the kind of the binding.')
  .covers('group-offset-alignment')
  .params({ kind: KINDS, type: ['uniform', 'storage', 'read-only-storage'], extra: [0, 4, 'half', 'unit'] })
  .fn(async (t, { kind, type, extra }) => {
    const { limits } = t.device;
    const unit = type === 'uniform' ? limits.minUniformBufferOffsetAlignment : limits.minStorageBufferOffsetAlignment;
    const offset = { half: unit / 2, unit }[extra] ?? extra;
    const { encoder, finish } = t.recorder(kind);
    const buffer = t.buffer({ size: 4 * unit, usage: USAGE.UNIFORM | USAGE.STORAGE });
    encoder.setBindGroup(0, t.group(buffer, { layout: t.layout({ dynamic: true, type }), size: 16 }), [offset]);
    await finish(offset % unit === 0);
  });

g.test('offset_range')
  .desc('What a dynamic offset moves stays within its buffer. Both overloads say the same.')
  .covers('group-offset-range')
  .params({ kind: KINDS, offset: [0, 256, 512, 768, 1024], overload: ['sequence', 'typed array'] })
  .fn(async (t, { kind, offset, overload }) => {
    const { encoder, finish } = t.recorder(kind);
    const made = t.group(t.buffer({ size: 1024 }), { layout: t.layout({ dynamic: true }), offset: 256, size: 256 });
    if (overload === 'sequence') encoder.setBindGroup(0, made, [offset]);
    else encoder.setBindGroup(0, made, new Uint32Array([7, offset, 7]), 1, 1);
    await finish(256 + offset + 256 <= 1024);
  });

g.test('immediates_range')
  .desc('Immediates start at a multiple of 4 and end within maxImmediateSize.')
  .covers('immediates-range')
  .params({ kind: KINDS, start: [0, 2, 4, 'last word', 'end', 'beyond'], words: [0, 1, 2] })
  .fn(async (t, { kind, start, words }) => {
    const limit = t.device.limits.maxImmediateSize;
    if (!limit) return;
    const offset = { 'last word': limit - 4, end: limit, beyond: limit + 4 }[start] ?? start;
    const { encoder, finish } = t.recorder(kind);
    encoder.setImmediates(offset, new Uint32Array(words));
    await finish(offset % 4 === 0 && offset + 4 * words <= limit);
  });

g.test('immediates_data')
  .desc('A part of the data that does not exist, or is no multiple of 4 bytes, throws.')
  .covers('immediates-data')
  .params({ kind: KINDS })
  .fn((t, { kind }) => {
    const { encoder } = t.recorder(kind);
    const words = new Uint32Array(4);
    encoder.setImmediates(0, words, 1, 3);
    encoder.setImmediates(0, new Uint8Array(8), 4);
    t.expectThrows('OperationError', () => encoder.setImmediates(0, words, 2, 3));
    t.expectThrows('OperationError', () => encoder.setImmediates(0, words, 5));
    t.expectThrows('OperationError', () => encoder.setImmediates(0, new Uint8Array(6)));
    t.expectThrows('OperationError', () => encoder.setImmediates(0, new ArrayBuffer(8), 0, 3));
  });
