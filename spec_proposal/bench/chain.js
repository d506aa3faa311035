/**
 * A chain of tiny dispatches that each read what the one before has written, over 4 pipelines and 16 bind groups: every one of them,
 * and their order, can be told from the end state.
 */

const PIPELINES = 4;
const GROUPS = 16;
const ELEMENTS = 64;

/** Which pipeline the n-th dispatch has. The bind group changes with every one. */
export const PATTERNS = {
  changing: (n) => n % PIPELINES,
  blocks: (n, count) => Math.floor((n * PIPELINES) / count),
};

export class Chain {
  constructor(device, count, pattern) {
    this.device = device;
    this.steps = Array.from({ length: count }, (_, n) => [PATTERNS[pattern](n, count), n % GROUPS]);
    this.layout = device.createBindGroupLayout({
      entries: ['read-only-storage', 'storage'].map((type, binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } })),
    });
    this.buffers = Array.from({ length: GROUPS }, () =>
      device.createBuffer({ size: 4 * ELEMENTS, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC }),
    );
    const pipelines = Array.from({ length: PIPELINES }, (_, n) => this.#pipeline(...numbers(n)));
    const groups = this.buffers.map((buffer, n) => this.#group(buffer, this.buffers[(n + 1) % GROUPS]));
    /** What a page's loop goes through. */
    this.calls = this.steps.map(([pipeline, group]) => ({ pipeline: pipelines[pipeline], group: groups[group] }));
  }

  reset() {
    for (const [n, buffer] of this.buffers.entries()) {
      this.device.queue.writeBuffer(buffer, 0, new Uint32Array(ELEMENTS).fill(n + 1));
    }
  }

  /** Whether the buffers hold what one run from the start leaves. */
  async isRight() {
    const wanted = this.buffers.map((_, n) => n + 1);
    for (const [pipeline, group] of this.steps) {
      const [factor, term] = numbers(pipeline);
      wanted[(group + 1) % GROUPS] = (Math.imul(wanted[group], factor) + term) >>> 0;
    }
    const found = await Promise.all(this.buffers.map((buffer) => this.#read(buffer)));
    return found.every((words, n) => words.length === ELEMENTS && words.every((word) => word === wanted[n]));
  }

  async #read(buffer) {
    const staging = this.device.createBuffer({ size: buffer.size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, 0, staging, 0, buffer.size);
    this.device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    return new Uint32Array(staging.getMappedRange().slice(0));
  }

  #pipeline(factor, term) {
    const code = `
      @group(0) @binding(0) var<storage, read> a: array<u32>;
      @group(0) @binding(1) var<storage, read_write> b: array<u32>;
      @compute @workgroup_size(${ELEMENTS}) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        b[id.x] = a[id.x] * ${factor}u + ${term}u;
      }`;
    const layout = this.device.createPipelineLayout({ bindGroupLayouts: [this.layout] });
    return this.device.createComputePipeline({ layout, compute: { module: this.device.createShaderModule({ code }) } });
  }

  #group(from, to) {
    const entries = [from, to].map((buffer, binding) => ({ binding, resource: { buffer } }));
    return this.device.createBindGroup({ layout: this.layout, entries });
  }
}

function numbers(pipeline) {
  return [2 * pipeline + 3, 1000 + pipeline];
}
