/** What a test is given: a device, kernels, and checks that say separately whether finish and whether submit should pass. */

const { STORAGE, COPY_DST, COPY_SRC, UNIFORM, INDIRECT, MAP_READ } = GPUBufferUsage;

/** Of u32 in each buffer. */
export const COUNT = 64;

const shared = new WeakMap();

/** A device with everything that the tests ask for; null limits for those of the adapter. */
export async function openDevice(gpu, descriptor = {}) {
  const adapter = await gpu.requestAdapter();
  if (!adapter) throw new Error('no adapter: WebGPU finds nothing to run on');
  return adapter.requestDevice({ requiredFeatures: ['command-graph'], ...descriptor });
}

export class Kit {
  constructor(gpu, device, failures) {
    this.gpu = gpu;
    this.device = device;
    this.failures = failures;
    this.uncaptured = [];
    this.listen = (event) => {
      event.preventDefault?.();
      this.uncaptured.push(event.error.message);
    };
    device.addEventListener('uncapturederror', this.listen);
  }

  /** Ends a case: what is still under way is waited for, and no error may be left over. */
  async settle() {
    this.device.pushErrorScope('validation');
    await this.device.popErrorScope();
    await this.device.queue.onSubmittedWorkDone();
    this.device.removeEventListener('uncapturederror', this.listen);
    for (const message of this.uncaptured) this.fail(`uncaptured error: ${message}`);
  }

  newDevice(descriptor) {
    return openDevice(this.gpu, descriptor);
  }

  fail(message) {
    this.failures.push(message);
  }

  expect(condition, message) {
    if (!condition) this.fail(message);
  }

  expectEqual(found, wanted, what) {
    const [a, b] = [found, wanted].map((each) => JSON.stringify(ArrayBuffer.isView(each) ? [...each] : each));
    this.expect(a === b, `${what}: ${a} instead of ${b}`);
  }

  expectThrows(type, steps) {
    try {
      steps();
    } catch (error) {
      this.expect(error.name === type, `threw ${error.name} (${error.message}) instead of ${type}`);
      return;
    }
    this.fail(`did not throw ${type}`);
  }

  /** Whether `steps` should generate a validation error. Returns what they return. */
  async expectError(should, steps, what = 'the call') {
    this.device.pushErrorScope('validation');
    const value = await steps();
    const error = await this.device.popErrorScope();
    if (should) this.expect(error, `${what} should fail`);
    else this.expect(!error, `${what} should pass, but: ${error?.message}`);
    return value;
  }

  // -- objects --

  buffer({ size = 4 * COUNT, usage = STORAGE | COPY_DST | COPY_SRC, device = this.device, value = null, ...more } = {}) {
    const buffer = device.createBuffer({ size, usage, ...more });
    if (value !== null) device.queue.writeBuffer(buffer, 0, new Uint32Array(size / 4).fill(value));
    return buffer;
  }

  /** A layout of storage bindings; `dynamic`, `type` and `minBindingSize` are those of all of them. */
  layout({ bindings = 1, dynamic = false, type = 'storage', minBindingSize = 0, device = this.device } = {}) {
    const entries = Array.from({ length: bindings }, (_, binding) => ({
      binding,
      visibility: GPUShaderStage.COMPUTE,
      buffer: { type, hasDynamicOffset: dynamic, minBindingSize },
    }));
    return device.createBindGroupLayout({ entries });
  }

  /** The layout that most tests use, one for each device. */
  get storage() {
    return this.once('storage', () => this.layout());
  }

  group(buffer, { layout = this.storage, device = this.device, offset, size } = {}) {
    return device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer, offset, size } }] });
  }

  /** `x = x * factor + term` on a storage buffer: the order of two of them can be told from the result. */
  affine(factor, term, { layouts = [this.storage], index = 0, device = this.device } = {}) {
    const make = () => this.pipeline(affineCode(factor, term, index), layouts, device);
    return layouts.length === 1 && layouts[0] === this.storage && device === this.device
      ? this.once(`affine ${factor} ${term} ${index}`, make)
      : make();
  }

  pipeline(code, layouts, device = this.device) {
    return device.createComputePipeline({
      layout: layouts === 'auto' ? 'auto' : device.createPipelineLayout({ bindGroupLayouts: layouts }),
      compute: { module: device.createShaderModule({ code }) },
    });
  }

  once(key, make) {
    let made = shared.get(this.device);
    if (!made) shared.set(this.device, (made = new Map()));
    if (!made.has(key)) made.set(key, make());
    return made.get(key);
  }

  /** An object that its creation made invalid; the error is swallowed. */
  async invalid(make) {
    this.device.pushErrorScope('validation');
    const made = make(this.device);
    await this.device.popErrorScope();
    return made;
  }

  invalidGroup() {
    const buffer = this.buffer({ usage: COPY_DST });
    return this.invalid(() => this.group(buffer));
  }

  invalidPipeline() {
    const code = 'this is no WGSL';
    return this.invalid((device) => this.pipeline(code, [this.storage], device));
  }

  invalidBuffer() {
    return this.invalid((device) => device.createBuffer({ size: 256, usage: MAP_READ | STORAGE | INDIRECT }));
  }

  // -- encoding --

  /**
   * An encoder of dispatches: of a bundle, or of a pass in a graph. `finish` says whether it should pass; `run` executes
   * what was encoded, and says whether the encoding of that and whether its submit should pass.
   */
  recorder(kind, slots = []) {
    const { device } = this;
    if (kind === 'bundle') {
      const encoder = device.createComputeBundleEncoder({ slots });
      const run = (bundle, bindings, should) => this.execute([[bundle, bindings]], should);
      return { encoder, finish: (should) => this.finish(encoder, should), run };
    }
    const graph = device.createCommandGraphEncoder({ slots });
    const encoder = graph.beginComputePass();
    const finish = (should) => {
      encoder.end();
      return this.finish(graph, should);
    };
    const run = (made, bindings, { finish: encodes = true, submit = true } = {}) =>
      this.expectError(!encodes || !submit, () => device.queue.submitGraph(made, bindings), 'submitGraph');
    return { encoder, finish, run };
  }

  finish(encoder, should = true) {
    return this.expectError(!should, () => encoder.finish(), 'finish');
  }

  /** A valid bundle of the given dispatches, each [pipeline, bind group | slot number]. */
  bundle(dispatches, { slots = [], label } = {}) {
    const encoder = this.device.createComputeBundleEncoder({ slots });
    for (const [pipeline, what] of dispatches) {
      encoder.setPipeline(pipeline);
      if (typeof what === 'number') encoder.setBindGroupSlot(0, what);
      else encoder.setBindGroup(0, what);
      encoder.dispatchWorkgroups(1);
    }
    return encoder.finish({ label });
  }

  /** Executes bundles in one pass and submits. */
  execute(executions, should) {
    return this.pass((pass) => {
      for (const [bundle, bindings] of executions) pass.executeBundle(bundle, bindings);
    }, should);
  }

  /** Encodes a pass and submits it; says whether finish and, if it passes, whether submit should pass. */
  async pass(steps, { finish = true, submit = true } = {}) {
    const encoder = this.device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    const commands = await this.expectError(
      !finish,
      () => {
        steps(pass, encoder);
        pass.end();
        return encoder.finish();
      },
      'finish of the command encoder',
    );
    if (finish) await this.expectError(!submit, () => this.device.queue.submit([commands]), 'submit');
    return commands;
  }

  /** The first words of a buffer. */
  async read(buffer, words = 1) {
    const staging = this.device.createBuffer({ size: 4 * words, usage: COPY_DST | MAP_READ });
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, 0, staging, 0, 4 * words);
    this.device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    return new Uint32Array(staging.getMappedRange().slice(0));
  }

  async expectContents(buffer, value, what = 'the buffer') {
    this.expectEqual((await this.read(buffer))[0], value, what);
  }
}

export const USAGE = { STORAGE, COPY_DST, COPY_SRC, UNIFORM, INDIRECT, MAP_READ };

function affineCode(factor, term, index) {
  return `
    @group(${index}) @binding(0) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(${COUNT}) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
      x[id.x] = x[id.x] * ${factor}u + ${term}u;
    }`;
}
