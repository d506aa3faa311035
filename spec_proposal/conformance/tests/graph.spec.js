import { group } from '../framework.js';
import { USAGE } from '../kit.js';

const g = group(import.meta.url);

g.test('feature')
  .desc('Graphs need the feature "command-graph".')
  .covers('graph-feature')
  .params({ asked: [false, true] })
  .fn(async (t, { asked }) => {
    const device = await t.newDevice({ requiredFeatures: asked ? ['command-graph'] : [] });
    t.expectEqual(device.features.has('command-graph'), asked, 'the feature');
    if (asked) device.createCommandGraphEncoder().finish();
    else t.expectThrows('TypeError', () => device.createCommandGraphEncoder());
  });

g.test('pass_state')
  .desc('While a pass is open its encoder is locked; a pass ends once.')
  .covers('graph-pass-locks', 'graph-pass-end')
  .params({ step: ['nothing', 'second pass', 'copy', 'finish', 'end twice', 'no end'] })
  .fn(async (t, { step }) => {
    const graph = t.device.createCommandGraphEncoder();
    const pass = graph.beginComputePass();
    if (step === 'second pass') graph.beginComputePass();
    if (step === 'copy') graph.copyBufferToBuffer(t.buffer(), 0, t.buffer(), 0, 4);
    if (step === 'finish') await t.finish(graph, false);
    if (step !== 'no end' && step !== 'finish') pass.end();
    if (step === 'end twice') await t.expectError(true, () => pass.end(), 'the second end');
    await t.finish(graph, step === 'nothing' || step === 'end twice');
  });

g.test('invalid_pass')
  .desc('An invalid pass makes the graph invalid.')
  .covers('graph-pass-end', 'graph-finish', 'graph-submit-valid')
  .params({ wrong: ['nothing', 'a dispatch', 'open debug group'] })
  .fn(async (t, { wrong }) => {
    const graph = t.device.createCommandGraphEncoder();
    const pass = graph.beginComputePass();
    if (wrong === 'a dispatch') pass.dispatchWorkgroups(1);
    if (wrong === 'open debug group') pass.pushDebugGroup('x');
    pass.end();
    const made = await t.finish(graph, wrong === 'nothing');
    await t.expectError(wrong !== 'nothing', () => t.device.queue.submitGraph(made), 'submitGraph');
  });

g.test('copy')
  .desc('Copies have the requirements of those of a command encoder.')
  .covers('graph-copy')
  .params({ source: ['ok', 'usage', 'other device'], destination: ['ok', 'usage', 'the source'], offset: [0, 2, 252, 256], size: [0, 2, 4] })
  .fn(async (t, { source, destination, offset, size }) => {
    const device = source === 'other device' ? await t.once('other', () => t.newDevice()) : t.device;
    const from = t.buffer({ device, usage: source === 'usage' ? USAGE.STORAGE : USAGE.COPY_SRC | USAGE.COPY_DST });
    const to = destination === 'the source' ? from : t.buffer({ usage: destination === 'usage' ? USAGE.STORAGE : USAGE.COPY_DST });
    const graph = t.device.createCommandGraphEncoder();
    graph.copyBufferToBuffer(from, 0, to, offset, size);
    await t.finish(graph, source === 'ok' && destination === 'ok' && offset % 4 === 0 && size % 4 === 0 && offset + size <= 256);
  });

g.test('clear')
  .desc('Clears have the requirements of those of a command encoder; without a size they reach to the end.')
  .covers('graph-clear')
  .params({ usage: ['COPY_DST', 'STORAGE'], offset: [0, 2, 252, 256, 260], size: [undefined, 0, 2, 4] })
  .fn(async (t, { usage, offset, size }) => {
    const graph = t.device.createCommandGraphEncoder();
    graph.clearBuffer(t.buffer({ usage: USAGE[usage] }), offset, size);
    const length = size ?? 256 - offset;
    await t.finish(graph, usage === 'COPY_DST' && offset % 4 === 0 && length % 4 === 0 && length >= 0 && offset + length <= 256);
  });

g.test('slots')
  .desc('submitGraph has the requirements of executeBundle for its bindings, and reports at once.')
  .covers('graph-submit-slots')
  .params({ bindings: ['right', 'none', 'too many', 'another layout'] })
  .fn(async (t, { bindings }) => {
    const { encoder, finish } = t.recorder('graph', [t.storage]);
    encoder.setPipeline(t.affine(1, 1));
    encoder.setBindGroupSlot(0, 0);
    encoder.dispatchWorkgroups(1);
    const graph = await finish(true);
    const bound = t.group(t.buffer());
    const list = {
      right: [bound],
      none: [],
      'too many': [bound, bound],
      'another layout': [t.group(t.buffer(), { layout: t.layout({ type: 'read-only-storage' }) })],
    }[bindings];
    await t.expectError(bindings !== 'right', () => t.device.queue.submitGraph(graph, list), 'submitGraph');
  });

g.test('other_device')
  .desc('A graph is submitted to the queue of its device.')
  .covers('graph-submit-valid')
  .fn(async (t) => {
    const graph = (await t.newDevice()).createCommandGraphEncoder().finish();
    await t.expectError(true, () => t.device.queue.submitGraph(graph), 'submitGraph');
    t.expectThrows('TypeError', () => t.device.queue.submitGraph({}));
  });

g.test('available')
  .desc('Every buffer of a graph is available when it is submitted; one that was mapped may be available again.')
  .covers('graph-submit-available')
  .params({ where: ['dispatch', 'slot', 'copy source', 'copy destination', 'clear', 'indirect'], state: ['available', 'destroyed', 'mapped'] })
  .fn(async (t, { where, state }) => {
    const mappable = where === 'copy destination';
    if (state === 'mapped' && !mappable) return;
    const usage = mappable ? USAGE.MAP_READ | USAGE.COPY_DST : USAGE.STORAGE | USAGE.COPY_SRC | USAGE.COPY_DST | USAGE.INDIRECT;
    const [buffer, other] = [t.buffer({ usage }), t.buffer()];
    const bound = t.group(where === 'dispatch' || where === 'slot' ? buffer : other);
    const graph = t.device.createCommandGraphEncoder({ slots: where === 'slot' ? [t.storage] : [] });
    const pass = graph.beginComputePass();
    pass.setPipeline(t.affine(1, 1));
    if (where === 'slot') pass.setBindGroupSlot(0, 0);
    else pass.setBindGroup(0, bound);
    if (where === 'indirect') pass.dispatchWorkgroupsIndirect(buffer, 0);
    else pass.dispatchWorkgroups(1);
    pass.end();
    if (where === 'copy source') graph.copyBufferToBuffer(buffer, 0, other, 0, 4);
    if (where === 'copy destination') graph.copyBufferToBuffer(other, 0, buffer, 0, 4);
    if (where === 'clear') graph.clearBuffer(buffer);
    const made = await t.finish(graph);
    if (state === 'destroyed') buffer.destroy();
    if (state === 'mapped') await buffer.mapAsync(GPUMapMode.READ);
    const bindings = where === 'slot' ? [bound] : [];
    await t.expectError(state !== 'available', () => t.device.queue.submitGraph(made, bindings), 'submitGraph');
    if (state === 'mapped') {
      buffer.unmap();
      await t.expectError(false, () => t.device.queue.submitGraph(made, bindings), 'submitGraph after unmap');
    }
  });

g.test('order')
  .desc('Commands run in their order, and again with each submission; between them other work of the queue.')
  .covers('graph-submit-executes', 'graph-submit-again')
  .fn(async (t) => {
    const [x, y] = [1, 0].map((value) => t.buffer({ value }));
    const graph = t.device.createCommandGraphEncoder({ label: 'a graph' });
    const dispatch = (buffer, factor, term) => {
      const pass = graph.beginComputePass();
      pass.setPipeline(t.affine(factor, term));
      pass.setBindGroup(0, t.group(buffer));
      pass.dispatchWorkgroups(1);
      pass.end();
    };
    graph.pushDebugGroup('all');
    dispatch(x, 10, 1); // x = 10 x + 1
    graph.copyBufferToBuffer(x, 0, y, 0, 256); // y = x
    dispatch(x, 10, 2); // x = 10 x + 2
    dispatch(y, 10, 5); // y = 10 y + 5
    graph.insertDebugMarker('here');
    graph.popDebugGroup();
    const made = await t.finish(graph);
    await t.expectError(false, () => {
      t.device.queue.submitGraph(made);
      t.device.queue.writeBuffer(x, 0, new Uint32Array(64).fill(3));
      t.device.queue.submitGraph(made);
      t.device.queue.submitGraph(made);
    });
    await t.expectContents(x, 31212, 'x');
    await t.expectContents(y, 31215, 'y');
  });
