/**
 * The arms of the comparison, and one sample of one of them. An arm encodes and submits the same chain of dispatches; what is timed
 * is its JavaScript, from the first call to the return of the (last) submit. The GPU is waited for between samples.
 */

import { install } from '../polyfill/index.js';
import { Chain } from './chain.js';

// The arms without the polyfill must not pay for its bookkeeping.
const native = {
  createCommandEncoder: GPUDevice.prototype.createCommandEncoder,
  beginComputePass: GPUCommandEncoder.prototype.beginComputePass,
  end: GPUComputePassEncoder.prototype.end,
  finish: GPUCommandEncoder.prototype.finish,
};
install();

const ARMS = {
  'per-op': ({ device, calls }) => () => {
    const { queue } = device;
    for (const { pipeline, group } of calls) {
      const encoder = native.createCommandEncoder.call(device);
      const pass = native.beginComputePass.call(encoder);
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(1);
      native.end.call(pass);
      queue.submit([native.finish.call(encoder)]);
    }
  },
  'one-pass': ({ device, calls }) => () => {
    const encoder = native.createCommandEncoder.call(device);
    const pass = native.beginComputePass.call(encoder);
    for (const { pipeline, group } of calls) {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(1);
    }
    native.end.call(pass);
    device.queue.submit([native.finish.call(encoder)]);
  },
  'one-pass, redundant state skipped': ({ device, calls }) => () => {
    const encoder = native.createCommandEncoder.call(device);
    const pass = native.beginComputePass.call(encoder);
    let [lastPipeline, lastGroup] = [null, null];
    for (const { pipeline, group } of calls) {
      if (pipeline !== lastPipeline) pass.setPipeline((lastPipeline = pipeline));
      if (group !== lastGroup) pass.setBindGroup(0, (lastGroup = group));
      pass.dispatchWorkgroups(1);
    }
    native.end.call(pass);
    device.queue.submit([native.finish.call(encoder)]);
  },
  bundle: ({ device, calls }) => {
    const bundle = recorded(device.createComputeBundleEncoder(), calls).finish();
    return executing(device, bundle, []);
  },
  'bundle with a slot': ({ device, calls, layout }) => {
    const slotted = calls[0].group;
    const encoder = device.createComputeBundleEncoder({ slots: [layout] });
    const bundle = recorded(encoder, calls, slotted).finish();
    return executing(device, bundle, [slotted]);
  },
  graph: ({ device, calls }) => {
    const encoder = device.createCommandGraphEncoder();
    recorded(encoder.beginComputePass(), calls).end();
    const graph = encoder.finish();
    return () => device.queue.submitGraph(graph);
  },
};

/** Prepares all arms for a chain, and says on what they will run. */
window.prepare = async (dispatches, pattern) => {
  if (!navigator.gpu) throw new Error('this browser has no WebGPU');
  const adapter = await navigator.gpu.requestAdapter();
  if (!adapter) throw new Error('no adapter: WebGPU finds nothing to run on');
  const device = await adapter.requestDevice({ requiredFeatures: ['command-graph'] });
  device.addEventListener('uncapturederror', ({ error }) => console.error(error.message));
  const chain = new Chain(device, dispatches, pattern);
  window.chain = chain;
  window.arms = Object.fromEntries(Object.entries(ARMS).map(([name, make]) => [name, make(chain)]));
  const { vendor, architecture, description, device: name } = adapter.info;
  const software = adapter.info.isFallbackAdapter ?? /swiftshader|llvmpipe/i.test(`${architecture} ${description}`);
  return { arms: Object.keys(ARMS), vendor, architecture, description, name, software, resolution: resolution(), isolated: crossOriginIsolated };
};

/** Whether an arm leaves the right contents in every buffer. */
window.check = async (name) => {
  const { chain, arms } = window;
  chain.reset();
  arms[name]();
  return chain.isRight();
};

/**
 * Seconds of JavaScript that one run of an arm takes: the median of `bursts`, each the mean of `times` runs without waiting in between.
 * The first one finds the caches as another arm has left them; a page that replays does not.
 */
window.sample = async (name, bursts, times) => {
  const run = window.arms[name];
  const { queue } = window.chain.device;
  const seconds = [];
  for (let burst = 0; burst < bursts; burst++) {
    await queue.onSubmittedWorkDone();
    const start = performance.now();
    for (let n = 0; n < times; n++) run();
    seconds.push((performance.now() - start) / 1000 / times);
  }
  await queue.onSubmittedWorkDone();
  return seconds.sort((a, b) => a - b)[Math.floor(bursts / 2)];
};

/** Runs an arm so often and waits for the GPU once: for those who read the processes' CPU time before and after. Gives seconds. */
window.occupy = async (name, times) => {
  const { queue } = window.chain.device;
  const start = performance.now();
  for (let n = 0; n < times; n++) window.arms[name]();
  await queue.onSubmittedWorkDone();
  return (performance.now() - start) / 1000;
};

/** Collects garbage, so that what one round has left is not charged to the next. */
window.collect = () => globalThis.gc?.();

function recorded(encoder, calls, slotted = null) {
  for (const { pipeline, group } of calls) {
    encoder.setPipeline(pipeline);
    if (group === slotted) encoder.setBindGroupSlot(0, 0);
    else encoder.setBindGroup(0, group);
    encoder.dispatchWorkgroups(1);
  }
  return encoder;
}

function executing(device, bundle, bindings) {
  return () => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.executeBundle(bundle, bindings);
    pass.end();
    device.queue.submit([encoder.finish()]);
  };
}

/** The smallest step of the clock, in seconds. */
function resolution() {
  let smallest = Infinity;
  for (let n = 0; n < 20; n++) {
    const start = performance.now();
    let now = start;
    while (now === start) now = performance.now();
    smallest = Math.min(smallest, now - start);
  }
  return smallest / 1000;
}
