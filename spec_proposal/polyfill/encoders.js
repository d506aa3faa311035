/** What the browser's command encoders and compute passes belong to, noted while they are open. */

import { caught, generate } from './errors.js';

/** @typedef {{ device: GPUDevice, error: string | null }} Note `error` is why we made the encoder invalid */

/**
 * Notes on objects that are open for a moment and mostly one at a time. A property of the object would be simpler, but Chromium frees
 * wrappers that have one much later, and a page that replays makes new ones all the time.
 */
class Open {
  /** @type {any} */
  #last = null;
  /** @type {Note | undefined} */
  #note;
  /** @type {WeakMap<object, Note>} */
  #others = new WeakMap();

  /** @param {object} object @param {Note} note */
  add(object, note) {
    if (this.#last !== null) this.#others.set(this.#last, /** @type {Note} */ (this.#note));
    this.#last = object;
    this.#note = note;
  }

  /** @param {object} object @returns {Note | undefined} undefined if it is closed, or was never noted */
  of(object) {
    return object === this.#last ? this.#note : this.#others.get(object);
  }

  /** @param {object} object */
  close(object) {
    if (object === this.#last) this.#last = null;
    else this.#others.delete(object);
  }
}

const encoders = new Open();

/** Open passes, each with the note of its encoder. */
export const passes = new Open();

/** Notes encoders and passes from now on; `finish` of an encoder that we made invalid says why. */
export function installEncoders() {
  const device = GPUDevice.prototype;
  const encoder = GPUCommandEncoder.prototype;
  const pass = GPUComputePassEncoder.prototype;
  const { createCommandEncoder } = device;
  const { beginComputePass, finish } = encoder;
  const { end } = pass;
  device.createCommandEncoder = function (descriptor) {
    const made = createCommandEncoder.call(this, descriptor);
    encoders.add(made, { device: this, error: null });
    return made;
  };
  encoder.beginComputePass = function (descriptor) {
    const made = beginComputePass.call(this, descriptor);
    const note = encoders.of(this);
    if (note) passes.add(made, note);
    return made;
  };
  pass.end = function () {
    passes.close(this);
    end.call(this);
  };
  encoder.finish = function (descriptor) {
    const note = encoders.of(this);
    encoders.close(this);
    if (!note?.error) return finish.call(this, descriptor);
    let commands;
    caught(note.device, () => (commands = finish.call(this, descriptor)));
    generate(note.device, `finish: ${note.error}`);
    return /** @type {GPUCommandBuffer} */ (/** @type {unknown} */ (commands));
  };
}
