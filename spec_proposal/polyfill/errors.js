/**
 * Errors as the specification has them: generated on a device, caught by its innermost error scope for validation errors or
 * else reported as uncaptured. Script cannot put an error into the scopes of the browser, so each has a shadow here.
 */

/** @typedef {{ filter: string, errors: (GPUError | Promise<GPUError | null>)[] }} Scope */

/** @type {WeakMap<GPUDevice, Scope[]>} */
const scopes = new WeakMap();
/** @type {WeakSet<GPUDevice>} */
const lost = new WeakSet();
/** @type {{ pushErrorScope: Function, popErrorScope: Function }} */
let native;

/** Shadows the error scopes of all devices. */
export function installErrorScopes() {
  const prototype = GPUDevice.prototype;
  const { pushErrorScope, popErrorScope, destroy } = prototype;
  native = { pushErrorScope, popErrorScope };
  prototype.pushErrorScope = function (filter) {
    pushErrorScope.call(this, filter);
    scopesOf(this).push({ filter, errors: [] });
  };
  prototype.popErrorScope = function () {
    const scope = scopesOf(this).pop();
    const found = popErrorScope.call(this);
    return scope?.errors.length ? firstOf(scope.errors, found) : found;
  };
  prototype.destroy = function () {
    lost.add(this);
    destroy.call(this);
  };
}

/**
 * Follows the loss of a device; a lost device generates no errors.
 * @param {GPUDevice} device
 */
export function watchLoss(device) {
  device.lost.then(() => lost.add(device));
}

/** @param {GPUDevice} device */
export function isLost(device) {
  return lost.has(device);
}

/**
 * Generates a validation error.
 * @param {GPUDevice} device
 * @param {string} message
 */
export function generate(device, message) {
  report(device, new GPUValidationError(message));
}

/**
 * Generates, in the error scope that is current now, the error that a promise may bring.
 * @param {GPUDevice} device
 * @param {GPUError | Promise<GPUError | null>} error
 */
export function report(device, error) {
  if (lost.has(device)) return;
  const scope = scopesOf(device).findLast((each) => each.filter === 'validation');
  if (scope) {
    scope.errors.push(error);
    return;
  }
  Promise.resolve(error).then((found) => {
    if (found && !lost.has(device)) {
      device.dispatchEvent(new GPUUncapturedErrorEvent('uncapturederror', { error: found, cancelable: true }));
    }
  });
}

/**
 * Runs `steps` with the browser's validation errors kept from the page; resolves to the first of them, or null.
 * @param {GPUDevice} device
 * @param {() => void} steps
 * @returns {Promise<GPUError | null>}
 */
export function caught(device, steps) {
  native.pushErrorScope.call(device, 'validation');
  steps();
  // A device that is lost while the scope is open has nothing to report.
  return native.popErrorScope.call(device).catch(() => null);
}

/** @param {GPUDevice} device */
function scopesOf(device) {
  let stack = scopes.get(device);
  if (!stack) scopes.set(device, (stack = []));
  return stack;
}

/**
 * @param {Scope['errors']} errors
 * @param {Promise<GPUError | null>} other
 */
async function firstOf(errors, other) {
  for (const each of errors) {
    const error = await each;
    if (error) return error;
  }
  return other;
}
