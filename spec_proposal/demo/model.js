/** The model in this browser: its files, a device that can run it, and the buffers that a text is written through. */

import { install } from '../polyfill/index.js';
import { readGraph } from '../polyfill/saved.js';
import { Problem, explained } from './problems.js';
import { Tokenizer } from './tokenizer.js';
import { plainMethods, waysOf } from './ways.js';

const U32 = 4;

/**
 * What Python says of the model it saved.
 * @typedef {object} About
 * @property {string} title
 * @property {number} context positions that the graph's cache has room for
 * @property {number[]} stops ids that end a text
 * @property {{ text: string, chat: boolean }[]} prompts to begin with
 * @property {{ before: string, after: string } | null} chat what stands around a message
 * @property {Record<'gpu' | 'software', { folder: string, bytes: number, dispatches: number }>} graphs
 */

/**
 * @param {string} folder
 * @returns {Promise<About>}
 * @throws {Problem}
 */
export async function describe(folder) {
  return parsed(`${folder}/about.json`);
}

/**
 * @returns {Promise<GPUAdapter>}
 * @throws {Problem} there is none
 */
export async function findAdapter() {
  if (!navigator.gpu) throw new Problem(isSecureContext ? 'no-webgpu' : 'not-secure');
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) throw new Problem('no-adapter');
  return adapter;
}

/**
 * Whether an adapter runs shaders on the CPU, where kernels that need few barriers are faster.
 * @param {GPUAdapter} adapter
 */
export function isSoftware({ info }) {
  return info.isFallbackAdapter || /swiftshader|llvmpipe|lavapipe|basic render/i.test(`${info.architecture} ${info.description} ${info.device}`);
}

export class Model {
  /** The ways to run a decode step. @type {Record<string, () => void>} */
  ways;
  #buffers;

  /**
   * @param {GPUDevice} device
   * @param {About} about
   * @param {Tokenizer} tokenizer
   * @param {import('../polyfill/saved.js').LoadedGraph & { nodes: any[] }} graph
   * @param {{ buffers: { label?: string }[] }} manifest
   * @param {ReturnType<typeof plainMethods>} plain
   */
  constructor(device, about, tokenizer, graph, manifest, plain) {
    this.device = device;
    this.about = about;
    this.tokenizer = tokenizer;
    this.dispatches = graph.nodes.length;
    this.ways = waysOf(device, graph, plain);
    this.#buffers = (/** @type {string} */ label) => graph.buffers[manifest.buffers.findIndex((each) => each.label === label)];
  }

  /** The u32 token at each position. */
  get tokens() {
    return this.#buffers('tokens');
  }

  /**
   * Begins a text; the steps that follow take one token of the prompt after another, then those that they choose.
   * @param {number[]} prompt
   */
  begin(prompt) {
    const { queue } = this.device;
    const { stops } = this.about;
    queue.writeBuffer(this.#buffers('stops'), 0, Uint32Array.of(stops.length, ...stops));
    queue.writeBuffer(this.#buffers('prompt'), 0, Uint32Array.from(prompt));
    queue.writeBuffer(this.#buffers('state'), 0, Uint32Array.of(0, prompt.length, prompt[0], 0)); // position, length, token, stopped
  }

  /**
   * A command that puts the token of a position where it can be read, and a promise of it.
   * @param {number} position
   * @param {GPUBuffer} staging of 4 bytes
   */
  async read(position, staging) {
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(this.tokens, position * U32, staging, 0, U32);
    this.device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const [token] = new Uint32Array(staging.getMappedRange());
    staging.unmap();
    return token;
  }
}

/**
 * Fetches a model and makes it on a device.
 * @param {string} folder
 * @param {About} about
 * @param {GPUAdapter} found only asked what it is: an adapter gives one device, and the polyfill has to see the request
 * @param {(done: number, total: number, phase: 'fetch' | 'prepare') => void} progress in bytes
 * @returns {Promise<Model>}
 * @throws {Problem}
 */
export async function load(folder, about, found, progress) {
  const { folder: place, bytes } = about.graphs[isSoftware(found) ? 'software' : 'gpu'];
  const plain = plainMethods();
  install();
  const adapter = await findAdapter();
  let done = 0;
  const told = (/** @type {number} */ more) => progress((done += more), bytes, 'fetch');
  const tokenizer = new Tokenizer(await parsed(`${folder}/tokenizer.json`));
  const saved = await explained(readGraph((file) => fetched(`${folder}/${place}/${file}`, told)));
  progress(bytes, bytes, 'prepare');
  const device = await requestDevice(adapter, saved);
  const graph = await explained(saved.instantiate(device));
  return new Model(device, about, tokenizer, { ...graph, nodes: saved.manifest.nodes }, /** @type {any} */ (saved.manifest), plain);
}

/**
 * @param {GPUAdapter} adapter
 * @param {import('../polyfill/saved.js').SavedGraph} saved
 */
async function requestDevice(adapter, { deviceDescriptor }) {
  const { requiredFeatures = [], requiredLimits = {} } = deviceDescriptor;
  const missing = [...requiredFeatures].filter((each) => !adapter.features.has(each));
  if (missing.length) throw new Problem('too-little', `It lacks: ${missing.join(', ')}.`);
  for (const [name, needed] of Object.entries(requiredLimits)) {
    const offered = /** @type {any} */ (adapter.limits)[name];
    if (!(offered >= /** @type {number} */ (needed))) throw new Problem('too-little', `${name} is ${offered}, and ${needed} are needed.`);
  }
  try {
    return await adapter.requestDevice(deviceDescriptor);
  } catch (error) {
    throw new Problem('no-device', /** @type {Error} */ (error).message);
  }
}

/**
 * A file, told of as it comes.
 * @param {string} url
 * @param {(bytes: number) => void} [told]
 * @returns {Promise<ArrayBuffer>}
 */
async function fetched(url, told = () => {}) {
  const answer = await fetch(url).catch((error) => {
    throw new Problem('unreachable', `${url}: ${error.message}`);
  });
  if (!answer.ok || !answer.body) throw new Problem('no-model', `${url}: ${answer.status} ${answer.statusText}`);
  const reader = answer.body.getReader();
  const parts = [];
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      parts.push(next.value);
      told(next.value.length);
    }
  } catch (error) {
    throw new Problem('unreachable', `${url}: ${/** @type {Error} */ (error).message}`);
  }
  return new Blob(parts).arrayBuffer();
}

/** @param {string} url */
async function parsed(url) {
  return JSON.parse(new TextDecoder().decode(await fetched(url)));
}
