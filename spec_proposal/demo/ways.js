/**
 * Three ways to bring the dispatches of a saved graph to the GPU. Each is a function that encodes and submits all of them once.
 *
 * Call `plainMethods()` before the polyfill is installed: the first two ways must not pay for its bookkeeping.
 */

/** @typedef {{ pipeline: GPUComputePipeline, group: GPUBindGroup, x: number, y: number, z: number }} Call */

/** What the page shows of each way. */
export const WAYS = [
  { id: 'per-op', name: 'Per op', means: 'An encoder, a pass and a submit for every dispatch' },
  { id: 'one-pass', name: 'One pass', means: 'A loop puts every dispatch into one pass; one submit' },
  { id: 'bundle', name: 'Bundle', means: 'Recorded once, then executed with one call; one submit' },
];

/** The browser's own methods. */
export function plainMethods() {
  const { createCommandEncoder } = GPUDevice.prototype;
  const { beginComputePass, finish } = GPUCommandEncoder.prototype;
  const { end } = GPUComputePassEncoder.prototype;
  return { createCommandEncoder, beginComputePass, finish, end };
}

/**
 * @param {GPUDevice} device
 * @param {import('../polyfill/saved.js').LoadedGraph & { nodes: any[] }} graph
 * @param {ReturnType<typeof plainMethods>} plain
 * @returns {Record<string, () => void>}
 * @throws {Error} the graph has something else than plain dispatches
 */
export function waysOf(device, graph, plain) {
  const calls = graph.nodes.map((node, number) => callOf(node, number, graph));
  return { 'per-op': perOp(device, calls, plain), 'one-pass': onePass(device, calls, plain), bundle: bundle(device, calls) };
}

/**
 * @param {GPUDevice} device
 * @param {Call[]} calls
 * @param {ReturnType<typeof plainMethods>} plain
 */
function perOp(device, calls, plain) {
  const { queue } = device;
  return () => {
    for (const { pipeline, group, x, y, z } of calls) {
      const encoder = plain.createCommandEncoder.call(device);
      const pass = plain.beginComputePass.call(encoder);
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(x, y, z);
      plain.end.call(pass);
      queue.submit([plain.finish.call(encoder)]);
    }
  };
}

/**
 * @param {GPUDevice} device
 * @param {Call[]} calls
 * @param {ReturnType<typeof plainMethods>} plain
 */
function onePass(device, calls, plain) {
  return () => {
    const encoder = plain.createCommandEncoder.call(device);
    const pass = plain.beginComputePass.call(encoder);
    for (const { pipeline, group, x, y, z } of calls) {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(x, y, z);
    }
    plain.end.call(pass);
    device.queue.submit([plain.finish.call(encoder)]);
  };
}

/**
 * @param {GPUDevice} device
 * @param {Call[]} calls
 */
function bundle(device, calls) {
  const recording = device.createComputeBundleEncoder({ label: 'decode step' });
  for (const { pipeline, group, x, y, z } of calls) {
    recording.setPipeline(pipeline);
    recording.setBindGroup(0, group);
    recording.dispatchWorkgroups(x, y, z);
  }
  const recorded = recording.finish();
  return () => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.executeBundle(recorded);
    pass.end();
    device.queue.submit([encoder.finish()]);
  };
}

/**
 * @param {any} node
 * @param {number} number
 * @param {import('../polyfill/saved.js').LoadedGraph} graph
 * @returns {Call}
 */
function callOf({ op, pipeline, bindGroups = [], immediates = [], workgroups }, number, graph) {
  const [bound, ...others] = bindGroups;
  if (op !== 'dispatchWorkgroups' || !bound || others.some(Boolean) || bound.dynamicOffsets?.length || immediates.length) {
    throw new Error(`node ${number} of the graph is no plain dispatch with one bind group, and this page runs nothing else`);
  }
  const [x, y, z] = workgroups;
  return { pipeline: graph.pipelines[pipeline], group: graph.bindGroups[bound.group], x, y, z };
}
