import { group } from '../framework.js';

const g = group(import.meta.url);

const COMMANDS = {
  setPipeline: (t, encoder) => encoder.setPipeline(t.affine(1, 1)),
  setBindGroup: (t, encoder) => encoder.setBindGroup(0, null),
  setBindGroupSlot: (t, encoder) => encoder.setBindGroupSlot(0, 0),
  setImmediates: (t, encoder) => encoder.setImmediates(0, new Uint32Array(1)),
  dispatchWorkgroups: (t, encoder) => encoder.dispatchWorkgroups(1),
  dispatchWorkgroupsIndirect: (t, encoder) => encoder.dispatchWorkgroupsIndirect(t.buffer(), 0),
  pushDebugGroup: (t, encoder) => encoder.pushDebugGroup('x'),
  popDebugGroup: (t, encoder) => encoder.popDebugGroup(),
  insertDebugMarker: (t, encoder) => encoder.insertDebugMarker('x'),
};

g.test('empty')
  .desc('A bundle without dispatches is valid and can be executed.')
  .covers('finish-empty', 'finish-open')
  .fn(async (t) => {
    const bundle = await t.finish(t.device.createComputeBundleEncoder());
    await t.execute([[bundle]]);
  });

g.test('commands_after_finish')
  .desc('Every command on an encoder that has ended generates a validation error, at once.')
  .covers('error-ended', 'encode-state', 'finish-ends')
  .params({ command: Object.keys(COMMANDS), ended: [false, true] })
  .fn(async (t, { command, ended }) => {
    const encoder = t.device.createComputeBundleEncoder({ slots: [t.storage] });
    if (ended) encoder.finish();
    await t.expectError(ended, () => COMMANDS[command](t, encoder), command);
  });

g.test('twice')
  .desc('An encoder can be finished once; the second bundle is invalid, the first stays valid.')
  .covers('finish-open', 'finish-ends', 'finish-failure')
  .fn(async (t) => {
    const encoder = t.device.createComputeBundleEncoder();
    const first = await t.finish(encoder);
    const second = await t.finish(encoder, false);
    await t.execute([[first]]);
    await t.execute([[second]], { finish: false });
  });

g.test('after_failure')
  .desc('finish ends the encoder also when it fails.')
  .covers('finish-ends', 'finish-failure')
  .fn(async (t) => {
    const encoder = t.device.createComputeBundleEncoder();
    encoder.popDebugGroup();
    await t.finish(encoder, false);
    await t.expectError(true, () => encoder.setBindGroup(0, null), 'a command');
    await t.finish(encoder, false);
  });

g.test('debug_groups')
  .desc('Debug groups are balanced when an encoder ends.')
  .covers('finish-debug-groups', 'debug-balance')
  .params({ kind: ['bundle', 'graph'], pushes: [0, 1, 2], pops: [0, 1, 2, 3] })
  .fn(async (t, { kind, pushes, pops }) => {
    const { encoder, finish, run } = t.recorder(kind);
    for (let n = 0; n < pushes; n++) encoder.pushDebugGroup(`group ${n}`);
    encoder.insertDebugMarker('marker');
    for (let n = 0; n < pops; n++) encoder.popDebugGroup();
    const made = await finish(pushes === pops);
    if (pushes === pops) await run(made);
  });

g.test('command_count')
  .desc('As many dispatches as maxComputeBundleCommands; state counts for nothing.')
  .covers('finish-command-count')
  .params({ beyond: [-1, 0, 1] })
  .fn(async (t, { beyond }) => {
    const encoder = t.device.createComputeBundleEncoder();
    const empty = t.once('no bindings', () => t.pipeline('@compute @workgroup_size(1) fn main() {}', []));
    encoder.setPipeline(empty);
    for (let n = t.device.limits.maxComputeBundleCommands + beyond; n > 0; n--) encoder.dispatchWorkgroups(0);
    encoder.setPipeline(empty);
    await t.finish(encoder, beyond <= 0);
  });

g.test('one_error')
  .desc('Commands report nothing by themselves; finish reports one error, in the scope that is current then.')
  .covers('error-timing', 'finish-failure', 'finish-valid')
  .params({ wrong: [1, 3] })
  .fn(async (t, { wrong }) => {
    const encoder = t.device.createComputeBundleEncoder();
    await t.expectError(
      false,
      () => {
        for (let n = 0; n < wrong; n++) encoder.setBindGroupSlot(0, 99);
      },
      'the commands',
    );
    t.device.pushErrorScope('validation');
    await t.finish(encoder, false);
    t.expectEqual(await t.device.popErrorScope(), null, 'the outer scope');
  });

g.test('uncaptured')
  .desc('Without a scope the error of finish is dispatched as an uncaptured one; a scope for other errors does not catch it.')
  .covers('error-timing', 'finish-failure')
  .params({ filter: [null, 'out-of-memory', 'internal'] })
  .fn(async (t, { filter }) => {
    const encoder = t.device.createComputeBundleEncoder();
    encoder.dispatchWorkgroups(1);
    if (filter) t.device.pushErrorScope(filter);
    const found = new Promise((resolve) => t.device.addEventListener('uncapturederror', resolve, { once: true }));
    encoder.finish();
    if (filter) t.expectEqual(await t.device.popErrorScope(), null, 'the scope');
    const event = await found;
    t.expect(event.error instanceof GPUValidationError, 'the error should be a validation error');
    t.expectEqual(t.uncaptured.splice(0).length, 1, 'uncaptured errors');
  });
