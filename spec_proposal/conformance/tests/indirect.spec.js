import { group } from '../framework.js';
import { USAGE } from '../kit.js';

const g = group(import.meta.url);
const KINDS = ['bundle', 'graph'];
const ARGUMENTS = USAGE.INDIRECT | USAGE.COPY_DST;

g.test('buffer')
  .desc('The indirect buffer is valid and of the same device. That it is destroyed is found by submit.')
  .covers('indirect-valid', 'submit-buffers', 'lifetime-destroy')
  .params({ kind: KINDS, buffer: ['valid', 'invalid', 'other device', 'destroyed'] })
  .fn(async (t, { kind, buffer: what }) => {
    const buffer = {
      invalid: () => t.invalidBuffer(),
      'other device': async () => t.buffer({ usage: ARGUMENTS, device: await t.newDevice() }),
    }[what];
    const made = buffer ? await buffer() : t.buffer({ usage: ARGUMENTS });
    if (what === 'destroyed') made.destroy();
    const { encoder, finish, run } = prepared(t, kind);
    encoder.dispatchWorkgroupsIndirect(made, 0);
    const finished = await finish(what === 'valid' || what === 'destroyed');
    if (what === 'destroyed') await run(finished, [], { submit: false });
  });

g.test('usage')
  .desc('The indirect buffer has the usage INDIRECT.')
  .covers('indirect-usage')
  .params({ kind: KINDS, usage: ['INDIRECT', 'STORAGE', 'COPY_SRC'] })
  .fn(async (t, { kind, usage }) => {
    const { encoder, finish } = prepared(t, kind);
    encoder.dispatchWorkgroupsIndirect(t.buffer({ usage: USAGE[usage] }), 0);
    await finish(usage === 'INDIRECT');
  });

g.test('offset')
  .desc('The offset is a multiple of 4, and 12 bytes from there lie within the buffer.')
  .covers('indirect-range', 'indirect-alignment')
  .params({ kind: KINDS, size: [8, 12, 24], offset: [0, 1, 2, 4, 8, 12, 16, 2 ** 32 + 4] })
  .fn(async (t, { kind, size, offset }) => {
    const { encoder, finish } = prepared(t, kind);
    encoder.dispatchWorkgroupsIndirect(t.buffer({ size, usage: ARGUMENTS }), offset);
    await finish(offset % 4 === 0 && offset + 12 <= size);
  });

g.test('usage_scope')
  .desc('The buffer of the arguments is not also bound as writable storage; as read-only storage it may be.')
  .covers('complete-usage-scope', 'binding-complete')
  .params({ kind: KINDS, type: ['storage', 'read-only-storage'], what: ['group', 'slot'] })
  .fn(async (t, { kind, type, what }) => {
    const layout = t.layout({ type });
    const { encoder, finish, run } = t.recorder(kind, [layout]);
    const buffer = t.buffer({ usage: ARGUMENTS | USAGE.STORAGE });
    const access = type === 'storage' ? 'read_write' : 'read';
    const code = `
      @group(0) @binding(0) var<storage, ${access}> x: array<u32>;
      @compute @workgroup_size(1) fn main() { _ = x[0]; }`;
    encoder.setPipeline(t.pipeline(code, [layout]));
    if (what === 'slot') encoder.setBindGroupSlot(0, 0);
    else encoder.setBindGroup(0, t.group(buffer, { layout }));
    encoder.dispatchWorkgroupsIndirect(buffer, 0);
    const should = type !== 'storage';
    const made = await finish(should || what === 'slot');
    if (should || what === 'slot') await run(made, [t.group(buffer, { layout })], { finish: should });
  });

g.test('arguments')
  .desc('The arguments are read by each execution, at its place; counts over the limit execute nothing.')
  .covers('execute-indirect')
  .params({ kind: KINDS })
  .fn(async (t, { kind }) => {
    const { encoder, finish, run } = t.recorder(kind);
    const buffer = t.buffer({ value: 0 });
    const counts = t.buffer({ size: 16, usage: ARGUMENTS });
    const set = (...words) => t.device.queue.writeBuffer(counts, 4, new Uint32Array(words));
    encoder.setPipeline(t.affine(10, 1));
    encoder.setBindGroup(0, t.group(buffer));
    encoder.dispatchWorkgroupsIndirect(counts, 4);
    const made = await finish(true);
    set(1, 1, 1);
    await run(made);
    await t.expectContents(buffer, 1, 'after one workgroup');
    set(0, 1, 1);
    await run(made);
    set(t.device.limits.maxComputeWorkgroupsPerDimension + 1, 1, 1);
    await run(made);
    await t.expectContents(buffer, 1, 'after none and too many');
    set(1, 1, 1);
    await run(made);
    await t.expectContents(buffer, 11, 'after another one');
  });

function prepared(t, kind) {
  const recorder = t.recorder(kind);
  recorder.encoder.setPipeline(t.affine(1, 1));
  recorder.encoder.setBindGroup(0, t.group(t.buffer()));
  return recorder;
}
