import { group } from '../framework.js';

const g = group(import.meta.url);

g.test('label')
  .desc('The encoder takes the label of its descriptor, the bundle that of finish.')
  .covers('create-label', 'finish-label')
  .params({ label: [undefined, '', 'a label'] })
  .fn((t, { label }) => {
    const encoder = t.device.createComputeBundleEncoder({ label });
    const bundle = encoder.finish({ label });
    t.expectEqual(encoder.label, label ?? '', 'label of the encoder');
    t.expectEqual(bundle.label, label ?? '', 'label of the bundle');
    bundle.label = 'another';
    t.expectEqual(bundle.label, 'another', 'label that was set');
  });

g.test('slot_count')
  .desc('Up to maxComputeBundleSlots slots.')
  .covers('create-slot-count', 'create-failure')
  .params({ beyond: [-16, -1, 0, 1] })
  .fn(async (t, { beyond }) => {
    const slots = Array(t.device.limits.maxComputeBundleSlots + beyond).fill(t.storage);
    const encoder = await t.expectError(beyond > 0, () => t.device.createComputeBundleEncoder({ slots }), 'creation');
    await t.finish(encoder, beyond <= 0);
  });

g.test('slot_layouts')
  .desc('The layouts of slots are valid and of the same device. An invalid encoder cannot be finished.')
  .covers('create-slot-layouts', 'create-failure', 'finish-valid')
  .params({ layout: ['valid', 'other device'], position: [0, 1] })
  .fn(async (t, { layout, position }) => {
    const slots = [t.storage, t.storage];
    if (layout === 'other device') slots[position] = t.layout({ device: await t.newDevice() });
    const should = layout === 'valid';
    const encoder = await t.expectError(!should, () => t.device.createComputeBundleEncoder({ slots }), 'creation');
    await t.finish(encoder, should);
  });

g.test('descriptor')
  .desc('The descriptor may be left out; slots must be bind group layouts; the interfaces cannot be constructed.')
  .covers('create-label')
  .fn(async (t) => {
    await t.finish(t.device.createComputeBundleEncoder());
    t.expectThrows('TypeError', () => t.device.createComputeBundleEncoder({ slots: [{}] }));
    t.expectThrows('TypeError', () => new GPUComputeBundleEncoder());
    t.expectThrows('TypeError', () => new GPUComputeBundle());
  });
