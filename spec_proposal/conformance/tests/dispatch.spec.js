import { group } from '../framework.js';
import { COUNT, USAGE } from '../kit.js';

const g = group(import.meta.url);
const KINDS = ['bundle', 'graph'];

g.test('size')
  .desc('No dimension is larger than maxComputeWorkgroupsPerDimension; 0 is valid and executes nothing.')
  .covers('dispatch-size', 'dispatch-zero')
  .params({ kind: KINDS, axis: ['x', 'y', 'z'], size: [0, 1, 'max', 'max + 1', 2 ** 31 - 1, 2 ** 32 - 1] })
  .fn(async (t, { kind, axis, size }) => {
    const max = t.device.limits.maxComputeWorkgroupsPerDimension;
    const count = { max, 'max + 1': max + 1 }[size] ?? size;
    const { encoder, finish, run } = t.recorder(kind);
    const buffer = t.buffer({ value: 1 });
    encoder.setPipeline(t.affine(1, 1));
    encoder.setBindGroup(0, t.group(buffer));
    encoder.dispatchWorkgroups(...['x', 'y', 'z'].map((each) => (each === axis ? count : Number(size === 0 || size === 1))));
    const made = await finish(count <= max);
    if (count > 1) return; // max workgroups are too many to wait for
    await run(made);
    await t.expectContents(buffer, 1 + count);
  });

g.test('conversion')
  .desc('Sizes are converted as unsigned integers; y and z are 1 when left out.')
  .covers('dispatch-size')
  .params({ kind: KINDS })
  .fn((t, { kind }) => {
    const { encoder } = t.recorder(kind);
    t.expectThrows('TypeError', () => encoder.dispatchWorkgroups(-1));
    t.expectThrows('TypeError', () => encoder.dispatchWorkgroups(2 ** 32));
    t.expectThrows('TypeError', () => encoder.dispatchWorkgroups(NaN));
  });

g.test('pipeline')
  .desc('A dispatch needs a pipeline.')
  .covers('dispatch-pipeline')
  .params({ kind: KINDS, set: [false, true], size: [0, 1] })
  .fn(async (t, { kind, set, size }) => {
    const { encoder, finish } = t.recorder(kind);
    if (set) encoder.setPipeline(t.affine(1, 1));
    encoder.setBindGroup(0, t.group(t.buffer()));
    encoder.dispatchWorkgroups(size);
    await finish(set);
  });

g.test('groups_set')
  .desc('Every index that the layout of the pipeline uses has a group or a slot, even for a size of 0. Others may be empty.')
  .covers('dispatch-groups-set')
  .params({ kind: KINDS, first: ['none', 'group', 'slot'], second: ['none', 'group', 'slot'], size: [0, 1] })
  .fn(async (t, { kind, first, second, size }) => {
    const pipeline = t.once('three', () => t.affine(1, 1, { layouts: [t.storage, t.layout({ bindings: 0 }), t.storage], index: 2 }));
    const { encoder, finish } = t.recorder(kind, [t.storage]);
    encoder.setPipeline(pipeline);
    for (const [index, what] of [[0, first], [2, second]]) {
      if (what === 'group') encoder.setBindGroup(index, t.group(t.buffer()));
      if (what === 'slot') encoder.setBindGroupSlot(index, 0);
    }
    encoder.dispatchWorkgroups(size);
    await finish(first !== 'none' && second !== 'none');
  });

g.test('layouts')
  .desc('The layout of a group, and that of a slot, is group-equivalent with the one of the pipeline: equal entries, not the same object.')
  .covers('dispatch-slot-layout', 'dispatch-group-layout')
  .params({
    kind: KINDS,
    what: ['group', 'slot'],
    layout: ['the same', 'equal', 'read-only', 'dynamic', 'minBindingSize', 'two bindings', 'of a pipeline'],
  })
  .fn(async (t, { kind, what, layout: name }) => {
    const layout = {
      'the same': () => t.storage,
      equal: () => t.layout(),
      'read-only': () => t.layout({ type: 'read-only-storage' }),
      dynamic: () => t.layout({ dynamic: true }),
      minBindingSize: () => t.layout({ minBindingSize: 16 }),
      'two bindings': () => t.layout({ bindings: 2 }),
      'of a pipeline': () => t.pipeline(TOUCH, 'auto').getBindGroupLayout(0),
    }[name]();
    const { encoder, finish } = t.recorder(kind, [layout]);
    encoder.setPipeline(t.affine(1, 1));
    if (what === 'slot') encoder.setBindGroupSlot(0, 0);
    else encoder.setBindGroup(0, groupFor(t, layout, name), name === 'dynamic' ? [0] : []);
    encoder.dispatchWorkgroups(1);
    await finish(name === 'the same' || name === 'equal');
  });

g.test('auto_layout')
  .desc('With the layout "auto" a group or a slot fits the pipeline that its layout is from, and no other.')
  .covers('dispatch-slot-layout', 'dispatch-group-layout')
  .params({ kind: KINDS, what: ['group', 'slot'], from: ['this pipeline', 'its twin', 'nowhere'] })
  .fn(async (t, { kind, what, from }) => {
    const [one, twin] = [t.pipeline(TOUCH, 'auto'), t.pipeline(TOUCH, 'auto')];
    const layout = { 'this pipeline': () => one.getBindGroupLayout(0), 'its twin': () => twin.getBindGroupLayout(0), nowhere: () => t.storage }[from]();
    const { encoder, finish, run } = t.recorder(kind, [layout]);
    const buffer = t.buffer({ value: 5 });
    encoder.setPipeline(one);
    if (what === 'slot') encoder.setBindGroupSlot(0, 0);
    else encoder.setBindGroup(0, t.group(buffer, { layout }));
    encoder.dispatchWorkgroups(1);
    const made = await finish(from === 'this pipeline');
    if (from !== 'this pipeline') return;
    await run(made, [t.group(buffer, { layout })]);
    await t.expectContents(buffer, 12);
  });

g.test('immediates')
  .desc('Every word of immediates that the shader reads is set, in the same encoder, before the dispatch.')
  .covers('dispatch-immediates')
  .params({ kind: KINDS, words: [0, 1, 2, 3] })
  .fn(async (t, { kind, words }) => {
    if (!t.device.limits.maxImmediateSize) return;
    const { encoder, finish } = t.recorder(kind);
    encoder.setPipeline(immediatePipeline(t));
    encoder.setBindGroup(0, t.group(t.buffer()));
    if (words) encoder.setImmediates(0, new Uint32Array(words));
    encoder.dispatchWorkgroups(1);
    await finish(words >= 2);
  });

g.test('snapshot')
  .desc('A dispatch keeps what was set before it: pipeline, group, slot, offsets and immediates. Later calls concern later dispatches.')
  .covers('dispatch-snapshot', 'slot-set', 'execute-dispatches')
  .params({ kind: KINDS })
  .fn(async (t, { kind }) => {
    const { encoder, finish, run } = t.recorder(kind, [t.storage, t.storage]);
    const [a, b, c] = [1, 1, 1].map((value) => t.buffer({ value }));
    encoder.setPipeline(t.affine(10, 1));
    encoder.setBindGroupSlot(0, 0);
    encoder.dispatchWorkgroups(1); // a = 11
    encoder.setBindGroupSlot(0, 1);
    encoder.dispatchWorkgroups(1); // b = 11
    encoder.setPipeline(t.affine(10, 2));
    encoder.dispatchWorkgroups(1); // b = 112
    encoder.setBindGroup(0, t.group(c));
    encoder.dispatchWorkgroups(1); // c = 12
    encoder.setPipeline(t.affine(10, 9));
    encoder.setBindGroupSlot(0, 0);
    const made = await finish(true);
    await run(made, [t.group(a), t.group(b)]);
    for (const [buffer, value] of [[a, 11], [b, 112], [c, 12]]) await t.expectContents(buffer, value);
  });

g.test('immediates_snapshot')
  .desc('Each dispatch sees the immediates that were set before it; the data is copied by the call.')
  .covers('dispatch-snapshot', 'execute-dispatches')
  .params({ kind: KINDS })
  .fn(async (t, { kind }) => {
    if (!t.device.limits.maxImmediateSize) return;
    const { encoder, finish, run } = t.recorder(kind);
    const buffer = t.buffer({ value: 0 });
    const data = new Uint32Array([10, 1]);
    encoder.setPipeline(immediatePipeline(t));
    encoder.setBindGroup(0, t.group(buffer));
    encoder.setImmediates(0, data);
    data.fill(77);
    encoder.dispatchWorkgroups(1); // 1
    encoder.setImmediates(4, new Uint32Array([2]));
    encoder.dispatchWorkgroups(1); // 12
    encoder.setImmediates(4, new Uint32Array([3]));
    const made = await finish(true);
    await run(made);
    await run(made);
    await t.expectContents(buffer, 1212);
  });

g.test('offsets_snapshot')
  .desc('Each dispatch sees the dynamic offsets that were set with its group.')
  .covers('dispatch-snapshot', 'group-offset-range')
  .params({ kind: KINDS })
  .fn(async (t, { kind }) => {
    const layout = t.layout({ dynamic: true });
    const { encoder, finish, run } = t.recorder(kind);
    const buffer = t.buffer({ size: 3 * 256, value: 1 });
    const bound = t.group(buffer, { layout, size: 256 });
    encoder.setPipeline(t.affine(10, 1, { layouts: [layout] }));
    for (const offset of [0, 512, 512]) {
      encoder.setBindGroup(0, bound, [offset]);
      encoder.dispatchWorkgroups(1);
    }
    await run(await finish(true));
    const words = await t.read(buffer, 3 * COUNT);
    t.expectEqual([words[0], words[COUNT], words[2 * COUNT]], [11, 1, 111], 'the three ranges');
  });

g.test('binding_size')
  .desc('A binding whose layout names no size holds what the shader needs.')
  .covers('complete-binding-size')
  .params({ kind: KINDS, size: [16, 28, 32, 64] })
  .fn(async (t, { kind, size }) => {
    const code = `
      @group(0) @binding(0) var<storage, read_write> x: array<vec4<u32>, 2>;
      @compute @workgroup_size(1) fn main() { x[1] = x[0]; }`;
    const { encoder, finish } = t.recorder(kind);
    encoder.setPipeline(t.once('32 bytes', () => t.pipeline(code, [t.storage])));
    encoder.setBindGroup(0, t.group(t.buffer(), { size }));
    encoder.dispatchWorkgroups(1);
    await finish(size >= 32);
  });

const TOUCH = `
  @group(0) @binding(0) var<storage, read_write> x: array<u32>;
  @compute @workgroup_size(1) fn main() { x[0] += 7u; }`;

function immediatePipeline(t) {
  return t.once('immediates', () => {
    const code = `
      requires immediate_address_space;
      struct Numbers { factor: u32, term: u32 }
      var<immediate> numbers: Numbers;
      @group(0) @binding(0) var<storage, read_write> x: array<u32>;
      @compute @workgroup_size(1) fn main() { x[0] = x[0] * numbers.factor + numbers.term; }`;
    const layout = t.device.createPipelineLayout({ bindGroupLayouts: [t.storage], immediateSize: 8 });
    return t.device.createComputePipeline({ layout, compute: { module: t.device.createShaderModule({ code }) } });
  });
}

function groupFor(t, layout, name) {
  const count = name === 'two bindings' ? 2 : 1;
  const entries = Array.from({ length: count }, (_, binding) => ({ binding, resource: { buffer: t.buffer({ usage: USAGE.STORAGE }) } }));
  return t.device.createBindGroup({ layout, entries });
}
