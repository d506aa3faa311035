/**
 * Reads graphs that `graph.save()` has written (format.md) into command graphs of this proposal. A file is hostile input: its shape is
 * checked here before anything is made, its objects and commands by WebGPU and by the encoders, its contents by their checksums.
 *
 *     const saved = await readGraph(await (await fetch('graph.zip')).arrayBuffer());
 *     const device = await adapter.requestDevice(saved.deviceDescriptor);
 *     const { graph, buffers } = await saved.instantiate(device);
 *     device.queue.submitGraph(graph);
 */

const MIB = 2 ** 20;
/** The most that a file may hold or ask for. */
const MOST = { manifest: 16 * MIB, zeroed: 1024 * MIB, code: MIB, nodes: 1e6, objects: 65536 };
const TRAILER = 79; // ,\n"sha256":"64 digits"}\n

/** What each object of the manifest may have. */
const MEMBERS = {
  manifest:
    'format version generator name requires contents modules bindGroupLayouts pipelineLayouts pipelines buffers bindGroups writes nodes inputs outputs sha256',
  module: 'label code',
  bindGroupLayout: 'label entries',
  pipelineLayout: 'label bindGroupLayouts immediateSize',
  pipeline: 'label module entryPoint layout constants',
  buffer: 'label size usage contents',
  bindGroup: 'label layout entries',
  node: 'op label debugGroups place pipeline bindGroups immediates workgroups buffer offset source sourceOffset destination destinationOffset size dataOffset',
};

const OPERATIONS = ['dispatchWorkgroups', 'dispatchWorkgroupsIndirect', 'copyBufferToBuffer', 'clearBuffer', 'writeBuffer'];
const KINDS = /** @type {const} */ (['module', 'bindGroupLayout', 'pipelineLayout', 'pipeline', 'buffer', 'bindGroup', 'node']);

/**
 * @typedef {(file: string) => Promise<ArrayBuffer>} Folder gives a file of the folder that holds a graph
 * @typedef {{ graph: GPUCommandGraph, buffers: GPUBuffer[], pipelines: GPUComputePipeline[], bindGroups: GPUBindGroup[] }} Loaded
 */

/**
 * Reads and checks a file; makes nothing on a device.
 * @param {ArrayBuffer | Folder} source a zip file, or what reads the files of a folder
 * @returns {Promise<{ manifest: any, deviceDescriptor: GPUDeviceDescriptor, instantiate: (device: GPUDevice) => Promise<Loaded> }>}
 * @throws {Error} it is no such file, damaged, or asks for too much
 */
export async function readGraph(source) {
  try {
    const read = source instanceof ArrayBuffer ? unzipped(source) : source;
    const manifest = await parsed(new Uint8Array(await read('graph.json')));
    const contents = await opened(new Uint8Array(await read(manifest.contents.file)), manifest.contents);
    const { features = [], limits = {} } = manifest.requires ?? {};
    return {
      manifest,
      deviceDescriptor: { requiredFeatures: [...features, /** @type {any} */ ('command-graph')], requiredLimits: limits },
      instantiate: (device) => instantiated(device, manifest, contents),
    };
  } catch (error) {
    throw named(error);
  }
}

/** @param {Uint8Array} bytes */
async function parsed(bytes) {
  need(bytes.length > TRAILER && bytes.length <= MOST.manifest, `a manifest of ${bytes.length} bytes`);
  const body = bytes.subarray(0, -TRAILER);
  const trailer = text(bytes.subarray(-TRAILER));
  const digits = /^,\n"sha256":"([0-9a-f]{64})"\}\n$/.exec(trailer)?.[1];
  need(digits === (await sha256(body)), 'the checksum of the manifest is wrong: the file is damaged');
  const manifest = JSON.parse(text(bytes));
  need(manifest.format === 'cmdgraph' && manifest.version === 1, `format ${manifest.format} ${manifest.version}, not cmdgraph 1`);
  known(manifest, 'manifest');
  for (const kind of KINDS) {
    const list = (manifest[`${kind}s`] ??= []);
    const most = kind === 'node' ? MOST.nodes : MOST.objects;
    need(Array.isArray(list) && list.length <= most, `${kind}s must be a list of at most ${most}`);
    for (const each of list) known(each, kind);
    for (const { op } of kind === 'node' ? list : []) need(OPERATIONS.includes(op), `unknown node "${op}"`);
  }
  need(/^[\w.-]+$/.test(manifest.contents?.file ?? ''), 'contents.file must be the name of a file');
  need(total(manifest.modules, ({ code }) => code.length) <= MOST.code, 'too much shader code');
  need(total(manifest.buffers, ({ size, contents }) => (contents ? 0 : size)) <= MOST.zeroed, 'too many bytes in buffers without contents');
  return manifest;
}

/**
 * The contents as a function from a tensor of the manifest to its bytes.
 * @param {Uint8Array} bytes
 * @param {{ size: number, headerSha256: string }} wanted
 */
async function opened(bytes, { size, headerSha256 }) {
  need(bytes.length === size && size >= 8, `the contents have ${bytes.length} bytes, not ${size}`);
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  need(length <= MOST.manifest && 8 + length <= size, 'the header of the contents is too long');
  need((await sha256(bytes.subarray(0, 8 + length))) === headerSha256, 'the checksum of the header is wrong: the file is damaged');
  const header = JSON.parse(text(bytes.subarray(8, 8 + length)));
  const data = bytes.subarray(8 + length);
  return async (/** @type {{ tensor: string, sha256: string }} */ { tensor, sha256: digits }) => {
    need(Object.hasOwn(header, tensor), `no tensor "${tensor}"`);
    const [start, end] = header[tensor].data_offsets;
    need(whole(start) && whole(end) && start <= end && end <= data.length, `tensor "${tensor}" reaches past the end of the contents`);
    const found = /** @type {Uint8Array<ArrayBuffer>} */ (data.subarray(start, end));
    need((await sha256(found)) === digits, `the checksum of tensor "${tensor}" is wrong: the file is damaged`);
    return found;
  };
}

/**
 * Makes everything on a device; what was made is destroyed again if anything fails.
 * @param {GPUDevice} device
 * @param {any} manifest
 * @param {Awaited<ReturnType<typeof opened>>} contents
 */
async function instantiated(device, manifest, contents) {
  const made = /** @type {GPUBuffer[]} */ ([]);
  device.pushErrorScope('out-of-memory');
  device.pushErrorScope('validation');
  const graph = /** @type {any} */ ({});
  let failure = /** @type {any} */ (null);
  try {
    for (const each of manifest.buffers) made.push(await bufferOf(device, each, contents));
    Object.assign(graph, await recorded(device, manifest, made, contents));
  } catch (error) {
    failure = error;
  }
  failure = (await device.popErrorScope()) ?? (await device.popErrorScope()) ?? failure;
  if (!failure) return { ...graph, buffers: made.slice(0, manifest.buffers.length) };
  for (const buffer of made) buffer.destroy();
  throw failure instanceof Error ? named(failure) : new Error(`saved graph: not valid on this device: ${failure?.message}`);
}

/**
 * @param {GPUDevice} device
 * @param {any} descriptor
 * @param {Awaited<ReturnType<typeof opened>>} contents
 */
async function bufferOf(device, { label = '', size, usage, contents: tensor }, contents) {
  need(whole(size) && whole(usage), 'size and usage of a buffer must be whole numbers');
  const bytes = tensor ? await contents(tensor) : null;
  need(!bytes || bytes.length === size - (size % 4), `the contents of buffer "${label}" have ${bytes?.length} bytes`);
  if (!bytes?.length) return device.createBuffer({ label, size, usage });
  if (size % 4) {
    const buffer = device.createBuffer({ label, size, usage: usage | GPUBufferUsage.COPY_DST });
    device.queue.writeBuffer(buffer, 0, bytes);
    return buffer;
  }
  const buffer = device.createBuffer({ label, size, usage, mappedAtCreation: true });
  new Uint8Array(buffer.getMappedRange()).set(bytes);
  buffer.unmap();
  return buffer;
}

/**
 * @param {GPUDevice} device
 * @param {any} manifest
 * @param {GPUBuffer[]} buffers those of the manifest; one for the data of writes is added
 * @param {Awaited<ReturnType<typeof opened>>} contents
 */
async function recorded(device, manifest, buffers, contents) {
  const objects = objectsOf(device, manifest, buffers);
  const data = manifest.writes ? await contents(manifest.writes) : new Uint8Array(0);
  const constants = device.createBuffer({ size: 4 * Math.ceil(data.length / 4), usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST });
  if (data.length) device.queue.writeBuffer(constants, 0, data, 0, data.length - (data.length % 4));
  const encoder = device.createCommandGraphEncoder({ label: manifest.name ?? '' });
  /** @type {GPUCommandGraphPassEncoder | null} */
  let pass = null;
  for (const node of manifest.nodes) {
    if (node.op.startsWith('dispatch')) {
      pass ??= encoder.beginComputePass();
      dispatch(pass, node, objects);
      continue;
    }
    pass?.end();
    pass = null;
    if (node.op === 'copyBufferToBuffer') {
      encoder.copyBufferToBuffer(at(buffers, node.source), node.sourceOffset ?? 0, at(buffers, node.destination), node.destinationOffset ?? 0, node.size);
    } else if (node.op === 'clearBuffer') encoder.clearBuffer(at(buffers, node.buffer), node.offset ?? 0, node.size);
    else encoder.copyBufferToBuffer(constants, node.dataOffset ?? 0, at(buffers, node.buffer), node.offset ?? 0, node.size);
  }
  pass?.end();
  buffers.push(constants);
  return { graph: encoder.finish({ label: manifest.name ?? '' }), pipelines: objects.pipelines, bindGroups: objects.groups };
}

/**
 * @param {GPUDevice} device
 * @param {any} manifest
 * @param {GPUBuffer[]} buffers
 */
function objectsOf(device, { modules, bindGroupLayouts, pipelineLayouts, pipelines, bindGroups }, buffers) {
  const shaders = modules.map((/** @type {any} */ each) => device.createShaderModule(each));
  const layouts = bindGroupLayouts.map((/** @type {any} */ each) => device.createBindGroupLayout(each));
  const wholeLayouts = pipelineLayouts.map((/** @type {any} */ each) =>
    device.createPipelineLayout({ ...each, bindGroupLayouts: each.bindGroupLayouts.map((/** @type {number} */ n) => at(layouts, n)) }),
  );
  const made = pipelines.map(({ label, module, entryPoint, layout, constants }) =>
    device.createComputePipeline({
      label,
      layout: layout === 'auto' ? 'auto' : at(wholeLayouts, layout),
      compute: { module: at(shaders, module), entryPoint: entryPoint ?? undefined, constants },
    }),
  );
  const groups = bindGroups.map(({ label, layout, entries }) =>
    device.createBindGroup({
      label,
      layout: typeof layout === 'number' ? at(layouts, layout) : at(made, layout.pipeline).getBindGroupLayout(layout.group),
      entries: entries.map(({ binding, buffer, offset = 0, size }) => ({ binding, resource: { buffer: at(buffers, buffer), offset, size } })),
    }),
  );
  return { pipelines: made, groups, buffers };
}

/**
 * @param {GPUCommandGraphPassEncoder} pass
 * @param {any} node
 * @param {ReturnType<typeof objectsOf>} objects
 */
function dispatch(pass, { pipeline, bindGroups = [], immediates = [], workgroups, buffer, offset = 0, label }, objects) {
  if (label) pass.insertDebugMarker(label);
  pass.setPipeline(at(objects.pipelines, pipeline));
  for (const [index, bound] of bindGroups.entries()) {
    if (bound) pass.setBindGroup(index, at(objects.groups, bound.group), bound.dynamicOffsets ?? []);
  }
  for (const { offset: start = 0, data } of immediates) {
    need(/^([0-9a-f]{2})*$/.test(data), 'immediates must be hexadecimal');
    pass.setImmediates(start, Uint8Array.from(data.match(/../g) ?? [], (/** @type {string} */ each) => parseInt(each, 16)));
  }
  if (workgroups) pass.dispatchWorkgroups(workgroups[0], workgroups[1], workgroups[2]);
  else pass.dispatchWorkgroupsIndirect(at(objects.buffers, buffer), offset);
}

/**
 * The files of a zip file with stored entries.
 * @param {ArrayBuffer} bytes
 * @returns {Folder}
 */
function unzipped(bytes) {
  const view = new DataView(bytes);
  const end = bytes.byteLength - 22;
  need(end >= 0 && view.getUint32(end, true) === 0x06054b50, 'this is no zip file, or one with a comment');
  const files = new Map();
  let entry = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0; left--) {
    const nameLength = view.getUint16(entry + 28, true);
    const size = view.getUint32(entry + 24, true);
    const local = view.getUint32(entry + 42, true);
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    need(view.getUint16(entry + 10, true) === 0 && start + size <= end, 'an entry of the zip file is compressed or cut off');
    files.set(text(new Uint8Array(bytes, entry + 46, nameLength)), [start, start + size]);
    entry += 46 + nameLength + view.getUint16(entry + 30, true) + view.getUint16(entry + 32, true);
  }
  return async (name) => {
    need(files.has(name), `the zip file has no "${name}"`);
    return bytes.slice(...files.get(name));
  };
}

/**
 * @template T
 * @param {T[]} list
 * @param {number} number
 * @returns {T}
 */
function at(list, number) {
  need(whole(number) && number < list.length, `there is no object number ${number} of ${list.length}`);
  return list[number];
}

/**
 * @param {any} object
 * @param {keyof typeof MEMBERS} kind
 */
function known(object, kind) {
  need(typeof object === 'object' && object, `a ${kind} that is no object`);
  const names = MEMBERS[kind].split(' ');
  const other = Object.keys(object).find((each) => !names.includes(each));
  need(other === undefined, `${kind} has the unknown member "${other}"`);
}

/**
 * @param {any[]} list
 * @param {(item: any) => number} count
 */
function total(list, count) {
  return list.reduce((sum, each) => sum + count(each), 0);
}

/** @param {unknown} value */
function whole(value) {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** @param {Uint8Array} bytes */
function text(bytes) {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

/** @param {Uint8Array} bytes */
async function sha256(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', /** @type {Uint8Array<ArrayBuffer>} */ (bytes)));
  return Array.from(digest, (each) => each.toString(16).padStart(2, '0')).join('');
}

/**
 * What a damaged file makes JSON, DataView and others throw, with a word on what was read.
 * @param {any} error
 */
function named(error) {
  return error.message.startsWith('saved graph: ') ? error : new Error(`saved graph: damaged: ${error.message}`, { cause: error });
}

/**
 * @param {unknown} condition
 * @param {string} message
 */
function need(condition, message) {
  if (!condition) throw new Error(`saved graph: ${message}`);
}
