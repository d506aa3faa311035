/**
 * A polyfill of compute bundles and command graphs (../index.bs) over plain WebGPU.
 *
 * `install()` adds the new methods to the interfaces of the browser, before any device is requested. What an implementation
 * would save after JavaScript, a polyfill cannot: each execution is encoded again by calls of WebGPU, without redundant ones.
 */

import { GPUComputeBundle, GPUComputeBundleEncoder, installBundles } from './bundles.js';
import { installEncoders } from './encoders.js';
import { installErrorScopes } from './errors.js';
import { GPUCommandGraph, GPUCommandGraphEncoder, GPUCommandGraphPassEncoder, installGraphs } from './graphs.js';
import { installLimits } from './limits.js';
import { installRecords } from './records.js';
import { installReplay } from './replay.js';

const INTERFACES = { GPUComputeBundle, GPUComputeBundleEncoder, GPUCommandGraph, GPUCommandGraphEncoder, GPUCommandGraphPassEncoder };

/**
 * Adds what the browser lacks. May be called more than once.
 * @returns {boolean} whether the polyfill is in use; false where the browser has compute bundles of its own
 * @throws {Error} WebGPU itself is missing
 */
export function install() {
  const scope = /** @type {any} */ (globalThis);
  if (!scope.GPUDevice) throw new Error('no WebGPU to extend: the browser has none, or the page is not secure (https, localhost)');
  if (scope.GPUComputeBundle) return scope.GPUComputeBundle === GPUComputeBundle;
  installReplay(); // first: it keeps the browser's own methods
  installErrorScopes();
  installRecords();
  installEncoders();
  installLimits();
  installBundles();
  installGraphs();
  for (const [name, type] of Object.entries(INTERFACES)) {
    Object.defineProperty(type.prototype, Symbol.toStringTag, { value: name, configurable: true });
    Object.defineProperty(scope, name, { value: type, writable: true, configurable: true });
  }
  return true;
}
