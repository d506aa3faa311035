/**
 * What objects were made of: WebGPU objects do not tell, so it is noted when they are made. Objects made before the polyfill
 * was installed have no record and are refused.
 */

/**
 * @typedef {{ binding: number, visibility: number, kind: string, type: string, dynamic: boolean }} Entry
 * @typedef {{ device: GPUDevice, exclusive: object | null, key: string | null, entries: Map<number, Entry> | null, dynamic: Entry[] }} Layout
 * `entries` and `key` are null for layouts made by "auto": script cannot see what a shader binds.
 * @typedef {{ entry: Entry | undefined, binding: number, buffer?: GPUBuffer, offset: number, size: number, texture?: GPUTexture, mips?: Span, layers?: Span }} Binding
 * @typedef {[number, number]} Span first, and one past the last
 * @typedef {{ device: GPUDevice, layout: Layout, bindings: Binding[] }} Group
 * @typedef {{ device: GPUDevice, groups: (Layout | null)[] | null }} Pipeline `groups` is null for the layout "auto"
 */

/** The property that holds the record. */
const RECORD = Symbol('record');

/**
 * The record of an object of WebGPU or of the polyfill.
 * @param {any} object
 * @returns {any}
 */
export function recordOf(object) {
  return object[RECORD];
}

/** Notes objects from now on. */
export function installRecords() {
  const device = GPUDevice.prototype;
  note(device, 'createBuffer', (owner) => ({ device: owner }));
  note(device, 'createTexture', (owner) => ({ device: owner }));
  note(device, 'createBindGroupLayout', (owner, made, [descriptor]) => layoutOf(owner, descriptor.entries));
  note(device, 'createPipelineLayout', (owner, made, [descriptor]) => ({
    device: owner,
    groups: [...descriptor.bindGroupLayouts].map((each) => (each ? usedLayout(recordOf(each)) : null)),
  }));
  note(device, 'createBindGroup', (owner, made, [descriptor]) => groupOf(owner, descriptor));
  for (const kind of ['Compute', 'Render']) {
    for (const suffix of ['', 'Async']) {
      note(device, `create${kind}Pipeline${suffix}`, (owner, made, [descriptor]) => pipelineOf(owner, descriptor));
    }
  }
  for (const { prototype } of [GPUComputePipeline, GPURenderPipeline]) {
    note(prototype, 'getBindGroupLayout', (pipeline, made, [index]) => {
      const { device: owner, groups } = recordOf(pipeline);
      return groups?.[index] ?? { device: owner, exclusive: pipeline, key: null, entries: null, dynamic: [] };
    });
  }
  note(GPUTexture.prototype, 'createView', (texture, made, [descriptor]) => viewOf(texture, descriptor));
}

/**
 * Notes what an object is made of.
 * @param {any} object
 * @param {any} known
 */
export function record(object, known) {
  object[RECORD] = known;
}

/**
 * Whether groups of one layout can be bound where the other is expected.
 * @param {Layout} a
 * @param {Layout} b
 */
export function equivalent(a, b) {
  return a.exclusive === b.exclusive && (a.key === b.key || a.key === null || b.key === null);
}

/**
 * @param {any} prototype
 * @param {string} name
 * @param {(owner: any, made: any, args: any[]) => any} make
 */
function note(prototype, name, make) {
  const original = prototype[name];
  prototype[name] = function (/** @type {any[]} */ ...args) {
    const keep = (/** @type {any} */ made) => {
      made[RECORD] = make(this, made, args);
      return made;
    };
    const result = original.apply(this, args);
    return result instanceof Promise ? result.then(keep) : keep(result);
  };
}

const DEFAULTS = {
  buffer: { type: 'uniform', hasDynamicOffset: false, minBindingSize: 0 },
  sampler: { type: 'filtering' },
  texture: { sampleType: 'float', viewDimension: '2d', multisampled: false },
  storageTexture: { access: 'write-only', viewDimension: '2d' },
  externalTexture: {},
};

/**
 * @param {GPUDevice} device
 * @param {Iterable<any>} descriptors
 * @returns {Layout}
 */
function layoutOf(device, descriptors) {
  const whole = [...descriptors].map(complete).sort((a, b) => a.binding - b.binding);
  const entries = whole.map((each) => ({
    binding: each.binding,
    visibility: each.visibility,
    kind: each.kind,
    type: each.type ?? each.access ?? '',
    dynamic: !!each.hasDynamicOffset,
  }));
  return {
    device,
    exclusive: null,
    key: JSON.stringify(whole),
    entries: new Map(entries.map((each) => [each.binding, each])),
    dynamic: entries.filter((each) => each.dynamic),
  };
}

/**
 * @param {any} descriptor
 * @returns {any}
 */
function complete(descriptor) {
  const { binding, visibility } = descriptor;
  for (const [kind, defaults] of Object.entries(DEFAULTS)) {
    if (descriptor[kind]) {
      const own = Object.entries(descriptor[kind]).filter(([, value]) => value !== undefined);
      const all = Object.entries({ ...defaults, ...Object.fromEntries(own) }).sort(([a], [b]) => (a < b ? -1 : 1));
      return { binding, visibility, kind, ...Object.fromEntries(all) };
    }
  }
  return { binding, visibility, kind: 'none' };
}

/**
 * A pipeline layout treats a layout without entries as none.
 * @param {Layout | undefined} layout
 */
function usedLayout(layout) {
  return layout && layout.entries?.size !== 0 ? layout : null;
}

/**
 * @param {GPUDevice} device
 * @param {any} descriptor
 * @returns {Pipeline}
 */
function pipelineOf(device, descriptor) {
  return { device, groups: descriptor.layout === 'auto' ? null : (recordOf(descriptor.layout)?.groups ?? null) };
}

/**
 * @param {GPUDevice} device
 * @param {any} descriptor
 * @returns {Group}
 */
function groupOf(device, descriptor) {
  const layout = recordOf(descriptor.layout);
  const bindings = [...descriptor.entries].map(({ binding, resource }) => ({
    binding,
    entry: layout?.entries?.get(binding),
    ...boundResource(resource),
  }));
  return { device, layout, bindings };
}

/** @param {any} resource */
function boundResource(resource) {
  if (resource instanceof GPUTextureView) return recordOf(resource) ?? NOTHING;
  if (resource instanceof GPUTexture) return viewOf(resource);
  const buffer = resource instanceof GPUBuffer ? resource : resource?.buffer;
  if (!buffer) return NOTHING; // a sampler or an external texture: no dispatch writes to it
  const offset = resource.offset ?? 0;
  return { buffer, offset, size: resource.size ?? Math.max(0, buffer.size - offset) };
}

const NOTHING = { offset: 0, size: 0 };

/**
 * @param {GPUTexture} texture
 * @param {any} [descriptor]
 */
function viewOf(texture, descriptor = {}) {
  const mip = descriptor.baseMipLevel ?? 0;
  const layer = descriptor.baseArrayLayer ?? 0;
  const layers = texture.dimension === '3d' ? 1 : texture.depthOrArrayLayers;
  return {
    ...NOTHING,
    texture,
    mips: [mip, mip + (descriptor.mipLevelCount ?? texture.mipLevelCount - mip)],
    layers: [layer, layer + (descriptor.arrayLayerCount ?? layers - layer)],
  };
}
