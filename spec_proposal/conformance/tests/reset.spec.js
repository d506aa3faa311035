import { group } from '../framework.js';

const g = group(import.meta.url);

g.test('pipeline')
  .desc('After an execution, of an empty bundle too, no pipeline is set.')
  .covers('reset-pipeline', 'finish-empty')
  .params({ empty: [false, true], again: [false, true], dispatch: ['direct', 'indirect', 'none'] })
  .fn(async (t, { empty, again, dispatch }) => {
    const bundle = t.bundle(empty ? [] : [[t.affine(1, 1), t.group(t.buffer())]]);
    const bound = t.group(t.buffer());
    const counts = t.buffer({ size: 12, usage: GPUBufferUsage.INDIRECT | GPUBufferUsage.COPY_DST });
    const steps = (pass) => {
      pass.setPipeline(t.affine(1, 1));
      pass.executeBundle(bundle);
      if (again) pass.setPipeline(t.affine(1, 2));
      pass.setBindGroup(0, bound);
      if (dispatch === 'direct') pass.dispatchWorkgroups(1);
      if (dispatch === 'indirect') pass.dispatchWorkgroupsIndirect(counts, 0);
    };
    await t.pass(steps, { finish: again || dispatch === 'none' });
  });

g.test('pipeline_twice')
  .desc('The pipeline is reset by every execution, not only the first of a pass.')
  .covers('reset-pipeline')
  .params({ sets: [1, 2] })
  .fn(async (t, { sets }) => {
    const bundle = t.bundle([]);
    const bound = t.group(t.buffer());
    const steps = (pass) => {
      for (const n of [1, 2]) {
        pass.executeBundle(bundle);
        if (n <= sets) pass.setPipeline(t.affine(1, 1));
        pass.setBindGroup(0, bound);
        pass.dispatchWorkgroups(1);
      }
    };
    await t.pass(steps, { finish: sets === 2 });
  });

g.test('groups')
  .desc('After an execution no bind group is set at any index.')
  .covers('reset-groups')
  .params({ empty: [false, true], again: [false, true], index: [0, 1, 'last'] })
  .fn(async (t, { empty, again, index: at }) => {
    const index = at === 'last' ? t.device.limits.maxBindGroups - 1 : at;
    const layouts = Array.from({ length: index + 1 }, (_, n) => (n === index ? t.storage : null));
    const pipeline = t.affine(1, 1, { layouts, index });
    const bundle = t.bundle(empty ? [] : [[t.affine(1, 1), t.group(t.buffer())]]);
    const bound = t.group(t.buffer());
    const steps = (pass) => {
      pass.setBindGroup(index, bound);
      pass.executeBundle(bundle);
      pass.setPipeline(pipeline);
      if (again) pass.setBindGroup(index, bound);
      pass.dispatchWorkgroups(1);
    };
    await t.pass(steps, { finish: again });
  });

g.test('immediates')
  .desc('After an execution no word of immediates is set.')
  .covers('reset-immediates')
  .beyondPolyfills('script cannot unset immediates of a pass')
  .params({ by: ['pass', 'bundle'], again: [false, true] })
  .fn(async (t, { by, again }) => {
    if (!t.device.limits.maxImmediateSize) return;
    const code = `
      requires immediate_address_space;
      var<immediate> term: u32;
      @group(0) @binding(0) var<storage, read_write> x: array<u32>;
      @compute @workgroup_size(1) fn main() { x[0] += term; }`;
    const pipeline = t.once('term', () => {
      const layout = t.device.createPipelineLayout({ bindGroupLayouts: [t.storage], immediateSize: 4 });
      return t.device.createComputePipeline({ layout, compute: { module: t.device.createShaderModule({ code }) } });
    });
    const bound = t.group(t.buffer());
    const encoder = t.device.createComputeBundleEncoder();
    if (by === 'bundle') {
      encoder.setPipeline(pipeline);
      encoder.setBindGroup(0, bound);
      encoder.setImmediates(0, new Uint32Array(1));
      encoder.dispatchWorkgroups(1);
    }
    const bundle = await t.finish(encoder);
    const steps = (pass) => {
      if (by === 'pass') pass.setImmediates(0, new Uint32Array(1));
      pass.executeBundle(bundle);
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, bound);
      if (again) pass.setImmediates(0, new Uint32Array(1));
      pass.dispatchWorkgroups(1);
    };
    await t.pass(steps, { finish: again });
  });
