import { group } from '../framework.js';

const g = group(import.meta.url);

g.test('bundle')
  .desc('executeBundle takes a valid bundle of the same device.')
  .covers('execute-bundle-valid', 'execute-failure', 'error-execution')
  .params({ bundle: ['valid', 'invalid', 'invalid by the browser', 'other device'] })
  .fn(async (t, { bundle: what }) => {
    const bundle = await {
      valid: () => t.bundle([[t.affine(1, 1), t.group(t.buffer())]]),
      invalid: () => {
        const encoder = t.device.createComputeBundleEncoder();
        encoder.dispatchWorkgroups(1);
        return t.finish(encoder, false);
      },
      'invalid by the browser': async () => {
        const encoder = t.device.createComputeBundleEncoder();
        encoder.setBindGroup(0, await t.invalidGroup());
        return t.finish(encoder, false);
      },
      'other device': async () => (await t.newDevice()).createComputeBundleEncoder().finish(),
    }[what]();
    await t.execute([[bundle]], { finish: what === 'valid' });
  });

g.test('pass_state')
  .desc('executeBundle on a pass that has ended generates a validation error at once, even for an empty bundle.')
  .covers('execute-state')
  .params({ ended: [false, true], empty: [false, true] })
  .fn(async (t, { ended, empty }) => {
    const bundle = t.bundle(empty ? [] : [[t.affine(1, 1), t.group(t.buffer())]]);
    const encoder = t.device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    if (ended) pass.end();
    await t.expectError(ended, () => pass.executeBundle(bundle), 'executeBundle');
    if (!ended) pass.end();
    await t.finish(encoder);
  });

g.test('error')
  .desc('An execution that is wrong reports nothing by itself: finish of the command encoder does, once, and what it returns cannot be submitted.')
  .covers('error-execution', 'execute-failure')
  .params({ wrong: [1, 2] })
  .fn(async (t, { wrong }) => {
    const bundle = t.bundle([], { slots: [t.storage] });
    const encoder = t.device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    await t.expectError(
      false,
      () => {
        for (let n = 0; n < wrong; n++) pass.executeBundle(bundle);
        pass.end();
      },
      'encoding',
    );
    const commands = await t.finish(encoder, false);
    await t.expectError(true, () => t.device.queue.submit([commands]), 'submit');
  });

g.test('arguments')
  .desc('The bundle must be one, the bindings bind groups or dictionaries of one.')
  .covers('execute-failure')
  .fn((t) => {
    const bundle = t.bundle([], { slots: [t.storage] });
    const pass = t.device.createCommandEncoder().beginComputePass();
    t.expectThrows('TypeError', () => pass.executeBundle());
    t.expectThrows('TypeError', () => pass.executeBundle({}));
    t.expectThrows('TypeError', () => pass.executeBundle(bundle, [{}]));
    t.expectThrows('TypeError', () => pass.executeBundle(bundle, [null]));
    t.expectThrows('TypeError', () => pass.executeBundle(bundle, [{ bindGroup: t.group(t.buffer()), dynamicOffsets: [-1] }]));
  });

g.test('binding_count')
  .desc('There is one binding for each slot, used or not.')
  .covers('binding-count')
  .params({ slots: [0, 1, 2], bindings: [0, 1, 2, 3] })
  .fn(async (t, { slots, bindings }) => {
    const bundle = t.bundle([], { slots: Array(slots).fill(t.storage) });
    await t.execute([[bundle, Array.from({ length: bindings }, () => t.group(t.buffer()))]], { finish: slots === bindings });
  });

g.test('binding')
  .desc('Bindings are valid and of the same device, those of unused slots too.')
  .covers('binding-valid')
  .params({ binding: ['valid', 'invalid', 'other device'], used: [true, false] })
  .fn(async (t, { binding, used }) => {
    const bundle = t.bundle(used ? [[t.affine(1, 1), 0]] : [], { slots: [t.storage] });
    const bound = await {
      valid: () => t.group(t.buffer()),
      invalid: () => t.invalidGroup(),
      'other device': async () => {
        const device = await t.newDevice();
        return t.group(t.buffer({ device }), { device, layout: t.layout({ device }) });
      },
    }[binding]();
    await t.execute([[bundle, [bound]]], { finish: binding === 'valid' });
  });

g.test('binding_layout')
  .desc('The layout of a bound group is group-equivalent with that of the slot, used or not.')
  .covers('binding-layout')
  .params({ layout: ['equal', 'read-only', 'minBindingSize'], used: [true, false], slot: [0, 1] })
  .fn(async (t, { layout: name, used, slot }) => {
    const layout = t.layout({ equal: {}, 'read-only': { type: 'read-only-storage' }, minBindingSize: { minBindingSize: 4 } }[name]);
    const bundle = t.bundle(used ? [[t.affine(1, 1), slot]] : [], { slots: [t.storage, t.storage] });
    const bindings = [0, 1].map((n) => t.group(t.buffer(), n === slot ? { layout } : {}));
    await t.execute([[bundle, bindings]], { finish: name === 'equal' });
  });

g.test('offset_count')
  .desc('A binding has one offset for each dynamic binding of its group; a group by itself has none.')
  .covers('binding-offset-count')
  .params({ dynamic: [false, true], offsets: [null, 0, 1, 2] })
  .fn(async (t, { dynamic, offsets }) => {
    const layout = t.layout({ dynamic });
    const bundle = t.bundle([], { slots: [layout] });
    const bindGroup = t.group(t.buffer({ size: 1024 }), { layout, size: 256 });
    const binding = offsets === null ? bindGroup : { bindGroup, dynamicOffsets: Array(offsets).fill(0) };
    await t.execute([[bundle, [binding]]], { finish: (offsets ?? 0) === (dynamic ? 1 : 0) });
  });

g.test('offset_alignment')
  .desc('Offsets of a binding are multiples of the limit for its kind.')
  .covers('binding-offset-alignment')
  .params({ type: ['uniform', 'storage', 'read-only-storage'], extra: [0, 4, 'half', 'unit'] })
  .fn(async (t, { type, extra }) => {
    const { limits } = t.device;
    const unit = type === 'uniform' ? limits.minUniformBufferOffsetAlignment : limits.minStorageBufferOffsetAlignment;
    const offset = { half: unit / 2, unit }[extra] ?? extra;
    const layout = t.layout({ dynamic: true, type });
    const buffer = t.buffer({ size: 4 * unit, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.STORAGE });
    const bundle = t.bundle([], { slots: [layout] });
    const binding = { bindGroup: t.group(buffer, { layout, size: 16 }), dynamicOffsets: [offset] };
    await t.execute([[bundle, [binding]]], { finish: offset % unit === 0 });
  });

g.test('offset_range')
  .desc('What an offset of a binding moves stays within its buffer.')
  .covers('binding-offset-range')
  .params({ offset: [0, 256, 512, 768, 1024] })
  .fn(async (t, { offset }) => {
    const layout = t.layout({ dynamic: true });
    const bundle = t.bundle([], { slots: [layout] });
    const bindGroup = t.group(t.buffer({ size: 1024 }), { layout, offset: 256, size: 256 });
    await t.execute([[bundle, [{ bindGroup, dynamicOffsets: [offset] }]]], { finish: 256 + offset + 256 <= 1024 });
  });

g.test('binding_size')
  .desc('What is bound to a slot holds what the shaders of the dispatches that use it need.')
  .covers('binding-complete', 'complete-binding-size')
  .params({ size: [16, 28, 32], used: [true, false] })
  .fn(async (t, { size, used }) => {
    const code = `
      @group(0) @binding(0) var<storage, read_write> x: array<vec4<u32>, 2>;
      @compute @workgroup_size(1) fn main() { x[1] = x[0]; }`;
    const pipeline = t.once('32 bytes', () => t.pipeline(code, [t.storage]));
    const bundle = t.bundle(used ? [[pipeline, 0]] : [], { slots: [t.storage] });
    await t.execute([[bundle, [t.group(t.buffer(), { size })]]], { finish: size >= 32 || !used });
  });
