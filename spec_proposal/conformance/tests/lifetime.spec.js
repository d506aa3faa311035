import { group } from '../framework.js';
import { USAGE } from '../kit.js';

const g = group(import.meta.url);

g.test('destroyed')
  .desc('A destroyed buffer is found by submit, wherever the bundle has it; executeBundle and finish pass. Other bundles go on.')
  .covers('submit-bind-groups', 'lifetime-destroy', 'submit-buffers')
  .params({ where: ['group', 'unused group', 'slot', 'unused slot', 'indirect'], when: ['before finish', 'after finish', 'after an execution'] })
  .fn(async (t, { where, when }) => {
    const buffer = t.buffer({ usage: USAGE.STORAGE | USAGE.INDIRECT });
    const bound = t.group(buffer);
    const other = t.group(t.buffer());
    const slots = where.endsWith('slot') ? [t.storage] : [];
    const bindings = slots.map(() => bound);
    const encoder = t.device.createComputeBundleEncoder({ slots });
    if (where === 'unused group') encoder.setBindGroup(1, bound);
    encoder.setPipeline(t.affine(1, 1));
    if (where === 'slot') encoder.setBindGroupSlot(0, 0);
    else encoder.setBindGroup(0, where === 'group' ? bound : other);
    if (where === 'indirect') encoder.dispatchWorkgroupsIndirect(buffer, 0);
    else encoder.dispatchWorkgroups(1);
    if (when === 'before finish') buffer.destroy();
    const bundle = await t.finish(encoder);
    if (when === 'after an execution') await t.execute([[bundle, bindings]]);
    buffer.destroy();
    await t.execute([[bundle, bindings]], { finish: true, submit: false });
    await t.execute([[t.bundle([[t.affine(1, 1), other]])]]);
  });

g.test('rebound')
  .desc('A bundle whose slot held a destroyed buffer works with another one: it keeps nothing of an execution.')
  .covers('lifetime-slots', 'execute-slots')
  .fn(async (t) => {
    const bundle = t.bundle([[t.affine(10, 1), 0]], { slots: [t.storage] });
    const [old, fresh] = [0, 0].map((value) => t.buffer({ value }));
    await t.execute([[bundle, [t.group(old)]]]);
    old.destroy();
    await t.execute([[bundle, [t.group(fresh)]]]);
    await t.expectContents(fresh, 1);
  });

g.test('mapped')
  .desc('A buffer that is still mapped from its creation is found by submit; once unmapped the same bundle works.')
  .covers('submit-bind-groups', 'lifetime-destroy')
  .fn(async (t) => {
    const buffer = t.device.createBuffer({ size: 256, usage: USAGE.STORAGE | USAGE.COPY_SRC, mappedAtCreation: true });
    const bundle = t.bundle([[t.affine(10, 1), t.group(buffer)]]);
    await t.execute([[bundle]], { submit: false });
    new Uint32Array(buffer.getMappedRange()).fill(4);
    buffer.unmap();
    await t.execute([[bundle]]);
    await t.expectContents(buffer, 41);
  });

g.test('keeps')
  .desc('A bundle keeps alive what it uses, a command buffer keeps alive its bundle, through garbage collections.')
  .covers('lifetime-keeps', 'lifetime-collect')
  .fn(async (t) => {
    const buffer = t.buffer({ value: 0 });
    const commands = (() => {
      const code = `
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] += 3u; }`;
      const bundle = t.bundle([[t.pipeline(code, [t.storage]), t.group(buffer)]]);
      const encoder = t.device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.executeBundle(bundle);
      pass.end();
      return encoder.finish();
    })();
    for (let n = 0; n < 20; n++) {
      Array.from({ length: 1000 }, () => new ArrayBuffer(10_000));
      globalThis.gc?.();
      await new Promise((resolve) => setTimeout(resolve));
    }
    await t.expectError(false, () => t.device.queue.submit([commands]), 'submit');
    await t.expectContents(buffer, 3);
  });

g.test('lost')
  .desc('On a lost device nothing happens, and nothing is reported.')
  .covers('lifetime-lost')
  .params({ when: ['before creation', 'before finish', 'before execution'] })
  .fn(async (t, { when }) => {
    const device = await t.newDevice();
    const errors = [];
    device.addEventListener('uncapturederror', (event) => errors.push(event.error.message));
    const lose = async (moment) => {
      if (moment !== when) return;
      device.destroy();
      await device.lost;
    };
    await lose('before creation');
    const encoder = device.createComputeBundleEncoder({ slots: Array(99).fill(t.storage) });
    if (when === 'before execution') errors.length = 0;
    encoder.dispatchWorkgroups(1);
    await lose('before finish');
    const bundle = encoder.finish();
    await new Promise((resolve) => setTimeout(resolve, 20));
    errors.length = 0;
    await lose('before execution');
    const commands = device.createCommandEncoder();
    const pass = commands.beginComputePass();
    pass.executeBundle(bundle);
    pass.end();
    if (when === 'before execution') device.queue.submit([commands.finish()]);
    encoder.finish();
    await new Promise((resolve) => setTimeout(resolve, 20));
    t.expectEqual(errors, [], 'errors of a lost device');
  });

g.test('zeros')
  .desc('The first execution sees zeros where nothing was written, later ones what was written; finish writes nothing.')
  .covers('zero-first', 'zero-not-again', 'zero-unexecuted')
  .params({ where: ['group', 'slot'], kind: ['bundle', 'graph'] })
  .fn(async (t, { where, kind }) => {
    const [buffer, untouched] = [t.buffer(), t.buffer({ value: 8 })];
    const make = async (target) => {
      const { encoder, finish, run } = t.recorder(kind, where === 'slot' ? [t.storage] : []);
      encoder.setPipeline(t.affine(10, 1));
      if (where === 'slot') encoder.setBindGroupSlot(0, 0);
      else encoder.setBindGroup(0, t.group(target));
      encoder.dispatchWorkgroups(1);
      return [await finish(true), run];
    };
    const [made, run] = await make(buffer);
    await make(untouched);
    const bindings = where === 'slot' ? [t.group(buffer)] : [];
    await run(made, bindings);
    await t.expectContents(buffer, 1, 'after the first execution');
    await run(made, bindings);
    await t.expectContents(buffer, 11, 'after the second');
    await t.expectContents(untouched, 8, 'what was only encoded');
  });
