import { group } from '../framework.js';
import { USAGE } from '../kit.js';

const g = group(import.meta.url);
const KINDS = ['bundle', 'graph'];
const TYPES = ['storage', 'read-only-storage', 'uniform'];

g.test('usage_scope')
  .desc('One dispatch does not both write a buffer and read it in another way, in one group or in two, wherever the ranges lie.')
  .covers('complete-usage-scope')
  .params({ kind: KINDS, first: TYPES, second: TYPES, groups: [1, 2], ranges: ['the same', 'apart'] })
  .fn(async (t, { kind, first, second, groups, ranges }) => {
    const writers = [first, second].filter((type) => type === 'storage').length;
    const should = writers === 0 || (writers === 2 && ranges === 'apart');
    const { encoder, finish } = t.recorder(kind);
    bind(t, encoder, [first, second], groups, ranges);
    encoder.dispatchWorkgroups(1);
    await finish(should);
  });

g.test('by_execution')
  .desc('With a slot in it a dispatch is held against the same rules by each execution, and the bindings decide.')
  .covers('binding-complete', 'complete-usage-scope', 'complete-aliasing')
  .params({ kind: KINDS, first: TYPES, second: TYPES, buffers: ['the same', 'two'], ranges: ['the same', 'apart'] })
  .fn(async (t, { kind, first, second, buffers, ranges }) => {
    const writers = [first, second].filter((type) => type === 'storage').length;
    const should = buffers === 'two' || writers === 0 || (writers === 2 && ranges === 'apart');
    const layouts = [first, second].map((type) => t.layout({ type }));
    const { encoder, finish, run } = t.recorder(kind, [layouts[1]]);
    const fixed = t.buffer({ size: 512, usage: USAGE.STORAGE | USAGE.UNIFORM });
    const bound = buffers === 'two' ? t.buffer({ size: 512, usage: USAGE.STORAGE | USAGE.UNIFORM }) : fixed;
    encoder.setPipeline(t.pipeline(EMPTY, layouts));
    encoder.setBindGroup(0, t.group(fixed, { layout: layouts[0], size: 256 }));
    encoder.setBindGroupSlot(1, 0);
    encoder.dispatchWorkgroups(1);
    const made = await finish(true);
    const offset = ranges === 'apart' ? 256 : 0;
    await run(made, [t.group(bound, { layout: layouts[1], offset, size: 256 })], { finish: should });
    const other = t.buffer({ size: 512, usage: USAGE.STORAGE | USAGE.UNIFORM });
    await run(made, [t.group(other, { layout: layouts[1], size: 256 })]);
  });

g.test('two_slots')
  .desc('The same group in two slots that write is refused; in slots of different dispatches it is not.')
  .covers('binding-complete', 'complete-aliasing')
  .params({ kind: KINDS, dispatches: ['one', 'two'], groups: ['the same', 'two'] })
  .fn(async (t, { kind, dispatches, groups }) => {
    const { encoder, finish, run } = t.recorder(kind, [t.storage, t.storage]);
    if (dispatches === 'one') {
      encoder.setPipeline(t.once('two groups', () => t.pipeline(EMPTY, [t.storage, t.storage])));
      encoder.setBindGroupSlot(0, 0);
      encoder.setBindGroupSlot(1, 1);
      encoder.dispatchWorkgroups(1);
    } else {
      encoder.setPipeline(t.affine(1, 1));
      for (const slot of [0, 1]) {
        encoder.setBindGroupSlot(0, slot);
        encoder.dispatchWorkgroups(1);
      }
    }
    const made = await finish(true);
    const one = t.group(t.buffer());
    const other = groups === 'the same' ? one : t.group(t.buffer());
    await run(made, [one, other], { finish: dispatches === 'two' || groups === 'two' });
  });

g.test('aliasing')
  .desc('Writable bindings of one dispatch do not overlap.')
  .covers('complete-aliasing')
  .params({ kind: KINDS, groups: [1, 2], start: [0, 256, 512], size: [256, 512] })
  .fn(async (t, { kind, groups, start, size }) => {
    const { encoder, finish } = t.recorder(kind);
    const buffer = t.buffer({ size: 1024 });
    const ranges = [[256, 256], [start, size]];
    bindRanges(t, encoder, ['storage', 'storage'], groups, buffer, ranges);
    encoder.dispatchWorkgroups(1);
    await finish(start >= 512 || start + size <= 256);
  });

g.test('dynamic_aliasing')
  .desc('Dynamic offsets move the ranges that are compared, also those of a binding.')
  .covers('complete-aliasing', 'binding-complete')
  .params({ kind: KINDS, what: ['group', 'slot'], offset: [0, 256, 512] })
  .fn(async (t, { kind, what, offset }) => {
    const dynamic = t.layout({ dynamic: true });
    const { encoder, finish, run } = t.recorder(kind, [dynamic]);
    const buffer = t.buffer({ size: 1024 });
    const moved = t.group(buffer, { layout: dynamic, size: 256 });
    encoder.setPipeline(t.pipeline(EMPTY, [t.storage, dynamic]));
    encoder.setBindGroup(0, t.group(buffer, { offset: 256, size: 256 }));
    if (what === 'slot') encoder.setBindGroupSlot(1, 0);
    else encoder.setBindGroup(1, moved, [offset]);
    encoder.dispatchWorkgroups(1);
    const should = offset !== 256;
    const made = await finish(should || what === 'slot');
    if (what === 'slot') await run(made, [{ bindGroup: moved, dynamicOffsets: [offset] }], { finish: should });
  });

g.test('separate_scopes')
  .desc('Every dispatch is a usage scope of its own: what one writes the next may read, and the bundle is none.')
  .covers('execute-ordering')
  .params({ kind: KINDS })
  .fn(async (t, { kind }) => {
    const readOnly = t.layout({ type: 'read-only-storage' });
    const copy = `
      @group(0) @binding(0) var<storage, read> a: array<u32>;
      @group(1) @binding(0) var<storage, read_write> b: array<u32>;
      @compute @workgroup_size(1) fn main() { b[0] = a[0] + 1u; }`;
    const { encoder, finish, run } = t.recorder(kind);
    const buffers = [5, 0, 0].map((value) => t.buffer({ value }));
    encoder.setPipeline(t.pipeline(copy, [readOnly, t.storage]));
    for (const [from, to] of [[0, 1], [1, 2], [2, 0]]) {
      encoder.setBindGroup(0, t.group(buffers[from], { layout: readOnly }));
      encoder.setBindGroup(1, t.group(buffers[to]));
      encoder.dispatchWorkgroups(1);
    }
    await run(await finish(true));
    await t.expectContents(buffers[0], 8);
  });

g.test('textures')
  .desc('Subresources of a texture are compared: written and sampled at once is refused, of different mip levels it is not.')
  .covers('complete-usage-scope', 'complete-aliasing')
  .params({ kind: KINDS, second: ['sampled', 'storage'], mips: ['the same', 'two'] })
  .fn(async (t, { kind, second, mips }) => {
    const texture = t.device.createTexture({
      size: [4, 4],
      mipLevelCount: 2,
      format: 'rgba8unorm',
      usage: GPUTextureUsage.STORAGE_BINDING | GPUTextureUsage.TEXTURE_BINDING,
    });
    const { COMPUTE } = GPUShaderStage;
    const storageTexture = { format: 'rgba8unorm', access: 'write-only' };
    const entries = [
      { binding: 0, visibility: COMPUTE, storageTexture },
      { binding: 1, visibility: COMPUTE, ...(second === 'sampled' ? { texture: {} } : { storageTexture }) },
    ];
    const layout = t.device.createBindGroupLayout({ entries });
    const view = (mip) => texture.createView({ baseMipLevel: mip, mipLevelCount: 1 });
    const { encoder, finish } = t.recorder(kind);
    encoder.setPipeline(t.pipeline(EMPTY, [layout]));
    const resources = [view(0), view(mips === 'two' ? 1 : 0)];
    encoder.setBindGroup(0, t.device.createBindGroup({ layout, entries: resources.map((resource, binding) => ({ binding, resource })) }));
    encoder.dispatchWorkgroups(1);
    await finish(mips === 'two');
  });

const EMPTY = '@compute @workgroup_size(1) fn main() {}';

function bind(t, encoder, types, groups, ranges) {
  const buffer = t.buffer({ size: 512, usage: USAGE.STORAGE | USAGE.UNIFORM });
  const second = ranges === 'apart' ? [256, 256] : [0, 256];
  bindRanges(t, encoder, types, groups, buffer, [[0, 256], second]);
}

/** Binds ranges of one buffer, all in one group or each in its own. */
function bindRanges(t, encoder, types, groups, buffer, ranges) {
  const entries = types.map((type, binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } }));
  const resources = ranges.map(([offset, size], binding) => ({ binding, resource: { buffer, offset, size } }));
  const parts = groups === 1 ? [[0, 1]] : [[0], [1]];
  const layouts = parts.map((part) => t.device.createBindGroupLayout({ entries: part.map((n) => entries[n]) }));
  encoder.setPipeline(t.pipeline(EMPTY, layouts));
  for (const [index, part] of parts.entries()) {
    encoder.setBindGroup(index, t.device.createBindGroup({ layout: layouts[index], entries: part.map((n) => resources[n]) }));
  }
}
