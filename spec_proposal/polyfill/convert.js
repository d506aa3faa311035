/** Conversions that Web IDL makes of arguments, and its errors. */

/** What lets the polyfill, and nobody else, construct its interfaces. */
export const ILLEGAL = Symbol('illegal');

/**
 * @param {unknown} token
 */
export function refuseConstruction(token) {
  if (token !== ILLEGAL) throw new TypeError('Illegal constructor');
}

/**
 * `[EnforceRange] unsigned long`
 * @param {any} value
 * @param {string} name
 * @returns {number}
 */
export function toU32(value, name) {
  return enforceRange(value, name, 2 ** 32 - 1) >>> 0; // kept as a small integer: calls take those quicker
}

/**
 * `[EnforceRange] unsigned long long`
 * @param {any} value
 * @param {string} name
 * @returns {number}
 */
export function toU64(value, name) {
  return enforceRange(value, name, Number.MAX_SAFE_INTEGER);
}

/**
 * @param {any} value
 * @param {Function} type
 * @param {string} name
 */
export function expectType(value, type, name) {
  if (!(value instanceof type)) throw new TypeError(`${name} is not of type ${type.name}`);
}

/**
 * `sequence<GPUBufferDynamicOffset>`
 * @param {any} value
 * @returns {Uint32Array | null} null for none
 */
export function toOffsets(value) {
  const offsets = value === undefined ? [] : Array.from(value, (each) => toU32(each, 'a dynamic offset'));
  return offsets.length ? Uint32Array.from(offsets) : null;
}

/**
 * @param {any} descriptor
 * @returns {string}
 */
export function toLabel(descriptor) {
  return descriptor?.label === undefined ? '' : String(descriptor.label);
}

/**
 * @param {any} value
 * @param {string} name
 * @param {number} largest
 */
function enforceRange(value, name, largest) {
  const number = Math.trunc(Number(value));
  if (!(number >= 0 && number <= largest)) throw new TypeError(`${name} (${value}) is outside of 0 to ${largest}`);
  return number;
}
