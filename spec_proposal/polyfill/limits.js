/** The limits and the feature of the proposal: the browser does not know them, so requests for devices are split. */

import { watchLoss } from './errors.js';
import { record } from './records.js';

export const FEATURE = 'command-graph';
export const LIMITS = { maxComputeBundleCommands: 65536, maxComputeBundleSlots: 16 };
/** What an adapter supports: the polyfill's own lists can be longer than the default. */
const BEST = { maxComputeBundleCommands: 2 ** 20, maxComputeBundleSlots: 16 };

/** @type {WeakMap<GPUSupportedLimits, any>} */
const limitsOf = new WeakMap();

export function installLimits() {
  for (const name of Object.keys(LIMITS)) {
    Object.defineProperty(GPUSupportedLimits.prototype, name, {
      configurable: true,
      enumerable: true,
      get() {
        return (limitsOf.get(this) ?? BEST)[name];
      },
    });
  }
  const { requestDevice } = GPUAdapter.prototype;
  GPUAdapter.prototype.requestDevice = async function (descriptor = {}) {
    const [own, limits] = split(descriptor.requiredLimits ?? {});
    const features = /** @type {string[]} */ ([...(descriptor.requiredFeatures ?? [])]);
    const others = /** @type {GPUFeatureName[]} */ (features.filter((each) => each !== FEATURE));
    const device = await requestDevice.call(this, { ...descriptor, requiredFeatures: others, requiredLimits: limits });
    limitsOf.set(device.limits, own);
    answer(device.features, features.includes(FEATURE));
    record(device.queue, { device });
    watchLoss(device);
    return device;
  };
  const { requestAdapter } = GPU.prototype;
  GPU.prototype.requestAdapter = async function (options) {
    const adapter = await requestAdapter.call(this, options);
    if (adapter) answer(adapter.features, true);
    return adapter;
  };
}

/**
 * @param {GPUSupportedFeatures} features
 * @param {boolean} has whether the feature is one of them
 */
function answer(features, has) {
  const others = features.has.bind(features);
  Object.defineProperty(features, 'has', {
    configurable: true,
    value: (/** @type {string} */ name) => (name === FEATURE ? has : others(name)),
  });
}

/**
 * Our limits, with the defaults where more is not asked for, and those of the browser.
 * @param {Record<string, any>} required
 * @returns {[Record<string, number>, Record<string, any>]}
 */
function split(required) {
  const own = { ...LIMITS };
  const others = { ...required };
  for (const name of /** @type {(keyof typeof LIMITS)[]} */ (Object.keys(LIMITS))) {
    const value = others[name];
    delete others[name];
    if (value === undefined) continue;
    if (value > BEST[name]) throw new DOMException(`${name}: ${value} is more than ${BEST[name]}`, 'OperationError');
    own[name] = Math.max(own[name], value);
  }
  return [own, others];
}
