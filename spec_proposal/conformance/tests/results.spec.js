import { group } from '../framework.js';
import { COUNT } from '../kit.js';

const g = group(import.meta.url);

g.test('order')
  .desc('Dispatches run in their order, each sees what those before it have written.')
  .covers('execute-dispatches', 'execute-ordering')
  .params({ dispatches: [1, 2, 9, 100] })
  .fn(async (t, { dispatches }) => {
    const buffer = t.buffer({ value: 1 });
    const bound = t.group(buffer);
    const numbers = Array.from({ length: dispatches }, (_, n) => [2 + (n % 3), n % 5]);
    await t.execute([[t.bundle(numbers.map(([factor, term]) => [t.affine(factor, term), bound]))]]);
    const wanted = numbers.reduce((x, [factor, term]) => (Math.imul(x, factor) + term) >>> 0, 1);
    t.expectEqual(await t.read(buffer, COUNT), Array(COUNT).fill(wanted), 'the buffer');
  });

g.test('equals_calls')
  .desc('An execution does what the same calls in a pass do.')
  .covers('execute-dispatches', 'execute-slots')
  .fn(async (t) => {
    const buffers = [3, 3].map((value) => t.buffer({ value }));
    const [called, bundled] = buffers.map((each) => t.group(each));
    const pipelines = [t.affine(3, 1), t.affine(5, 2), t.affine(3, 1)];
    await t.pass((pass) => {
      for (const pipeline of pipelines) {
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, called);
        pass.dispatchWorkgroups(1);
      }
    });
    await t.execute([[t.bundle(pipelines.map((each) => [each, 0]), { slots: [t.storage] }), [bundled]]]);
    const [a, b] = [await t.read(buffers[0], COUNT), await t.read(buffers[1], COUNT)];
    t.expectEqual(b, a, 'what the bundle left');
  });

g.test('again')
  .desc('A bundle may be executed any number of times: in a pass, in passes of a command buffer, in command buffers, in one submit.')
  .covers('execute-any-number')
  .params({ where: ['one pass', 'passes', 'command buffers', 'submits'] })
  .fn(async (t, { where }) => {
    const buffer = t.buffer({ value: 0 });
    const bundle = t.bundle([[t.affine(10, 1), t.group(buffer)]]);
    const [passes, buffers, submits] = { 'one pass': [1, 1, 1], passes: [3, 1, 1], 'command buffers': [1, 3, 1], submits: [1, 1, 3] }[where];
    const commands = () => {
      const encoder = t.device.createCommandEncoder();
      for (let n = 0; n < passes; n++) {
        const pass = encoder.beginComputePass();
        for (let k = where === 'one pass' ? 3 : 1; k > 0; k--) pass.executeBundle(bundle);
        pass.end();
      }
      return encoder.finish();
    };
    await t.expectError(false, () => {
      for (let n = 0; n < submits; n++) t.device.queue.submit(Array.from({ length: buffers }, commands));
    });
    await t.expectContents(buffer, 111);
  });

g.test('single_use')
  .desc('The command buffer of an execution can be submitted once.')
  .covers('execute-single-use')
  .fn(async (t) => {
    const buffer = t.buffer({ value: 0 });
    const commands = await t.execute([[t.bundle([[t.affine(10, 1), t.group(buffer)]])]]);
    await t.expectError(true, () => t.device.queue.submit([commands]), 'the second submit');
    await t.expectContents(buffer, 1);
  });

g.test('slots')
  .desc('Bindings concern one execution: the next one has its own, earlier ones keep theirs.')
  .covers('execute-slots', 'execute-any-number')
  .fn(async (t) => {
    const buffers = [0, 0, 0].map((value) => t.buffer({ value }));
    const [a, b, c] = buffers.map((each) => t.group(each));
    const bundle = t.bundle([[t.affine(10, 1), 0], [t.affine(10, 2), 1]], { slots: [t.storage, t.storage] });
    await t.execute([[bundle, [a, b]], [bundle, [b, c]], [bundle, [a, a]]]);
    t.expectEqual([...(await Promise.all(buffers.map(async (each) => (await t.read(each))[0])))], [112, 21, 2], 'the buffers');
  });

g.test('slot_offsets')
  .desc('The dynamic offsets of a binding concern one execution; the array is copied by the call.')
  .covers('execute-slots', 'binding-offset-range')
  .fn(async (t) => {
    const layout = t.layout({ dynamic: true });
    const buffer = t.buffer({ size: 3 * 256, value: 0 });
    const bindGroup = t.group(buffer, { layout, size: 256 });
    const bundle = t.bundle([[t.affine(10, 1, { layouts: [layout] }), 0], [t.affine(10, 2, { layouts: [layout] }), 0]], { slots: [layout] });
    await t.pass((pass) => {
      for (const offset of [512, 0]) {
        const dynamicOffsets = [offset];
        pass.executeBundle(bundle, [{ bindGroup, dynamicOffsets }]);
        dynamicOffsets[0] = 256;
      }
    });
    const words = await t.read(buffer, 3 * COUNT);
    t.expectEqual([words[0], words[COUNT], words[2 * COUNT]], [12, 0, 12], 'the three ranges');
  });

g.test('slot_at_two_indices')
  .desc('The same slot may stand at several indices.')
  .covers('slot-set', 'execute-slots')
  .fn(async (t) => {
    const layout = t.layout({ type: 'read-only-storage' });
    const code = `
      @group(0) @binding(0) var<storage, read> a: array<u32>;
      @group(1) @binding(0) var<storage, read> b: array<u32>;
      @group(2) @binding(0) var<storage, read_write> c: array<u32>;
      @compute @workgroup_size(1) fn main() { c[0] = a[0] + b[0]; }`;
    const encoder = t.device.createComputeBundleEncoder({ slots: [layout, t.storage] });
    encoder.setPipeline(t.pipeline(code, [layout, layout, t.storage]));
    for (const [index, slot] of [[0, 0], [1, 0], [2, 1]]) encoder.setBindGroupSlot(index, slot);
    encoder.dispatchWorkgroups(1);
    const sum = t.buffer({ value: 0 });
    await t.execute([[await t.finish(encoder), [t.group(t.buffer({ value: 21 }), { layout }), t.group(sum)]]]);
    await t.expectContents(sum, 42);
  });

g.test('mixed')
  .desc('A pass may mix executions and commands of its own.')
  .covers('execute-mixed', 'execute-ordering')
  .fn(async (t) => {
    const buffer = t.buffer({ value: 0 });
    const bound = t.group(buffer);
    const bundle = t.bundle([[t.affine(10, 2), bound]]);
    const own = (pass, term) => {
      pass.setPipeline(t.affine(10, term));
      pass.setBindGroup(0, bound);
      pass.dispatchWorkgroups(1);
    };
    await t.pass((pass) => {
      own(pass, 1);
      pass.executeBundle(bundle);
      own(pass, 3);
      pass.executeBundle(bundle);
    });
    await t.expectContents(buffer, 1232);
  });

g.test('no_inheritance')
  .desc('The dispatches of a bundle see nothing that the pass has set, at any index.')
  .covers('execute-no-inheritance')
  .fn(async (t) => {
    const [own, bundled] = [0, 0].map((value) => t.buffer({ value }));
    const pipeline = t.affine(1, 1, { layouts: [null, t.storage], index: 1 });
    const encoder = t.device.createComputeBundleEncoder();
    encoder.setPipeline(pipeline);
    encoder.setBindGroup(1, t.group(bundled));
    encoder.dispatchWorkgroups(1);
    const bundle = await t.finish(encoder);
    await t.pass((pass) => {
      pass.setPipeline(t.affine(7, 7));
      for (const index of [0, 1, 2]) pass.setBindGroup(index, t.group(own));
      pass.executeBundle(bundle);
    });
    await t.expectContents(own, 0, 'the buffer of the pass');
    await t.expectContents(bundled, 1, 'the buffer of the bundle');
  });

g.test('no_inherited_state_at_encoding')
  .desc('A bundle must bring its own pipeline and groups, whatever the pass will have set.')
  .covers('execute-no-inheritance', 'dispatch-pipeline', 'dispatch-groups-set')
  .params({ missing: ['pipeline', 'group', 'nothing'] })
  .fn(async (t, { missing }) => {
    const encoder = t.device.createComputeBundleEncoder();
    if (missing !== 'pipeline') encoder.setPipeline(t.affine(1, 1));
    if (missing !== 'group') encoder.setBindGroup(0, t.group(t.buffer()));
    encoder.dispatchWorkgroups(1);
    const bundle = await t.finish(encoder, missing === 'nothing');
    const set = (pass) => {
      pass.setPipeline(t.affine(1, 1));
      pass.setBindGroup(0, t.group(t.buffer()));
      pass.executeBundle(bundle);
    };
    await t.pass(set, { finish: missing === 'nothing' });
  });
