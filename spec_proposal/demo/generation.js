/** Generation: one decode step after another, a few of them under way, so that the GPU does not wait for the page. */

/** Steps that are submitted before the token of one is read. */
const AHEAD = 2;

/**
 * @typedef {object} Step what a step gave
 * @property {number} token
 * @property {boolean} chosen by the model; else it is the prompt's own
 * @property {number} js milliseconds of JavaScript that encoding and submitting took
 * @property {number} ms since the token before arrived
 */

/**
 * Runs decode steps on a prompt until `count` tokens are made, the text ends, or the context is full.
 * @param {import('./model.js').Model} model
 * @param {string} way
 * @param {number[]} prompt
 * @param {number} count
 * @param {AbortSignal} signal ends it after the steps under way
 * @returns {AsyncGenerator<Step>}
 */
export async function* generate(model, way, prompt, count, signal) {
  const { about, device } = model;
  const run = model.ways[way];
  const steps = Math.min(prompt.length - 1 + count, about.context);
  const stagings = Array.from({ length: AHEAD + 1 }, () => stagingOf(device));
  const underWay = /** @type {{ token: Promise<number>, js: number }[]} */ ([]);
  model.begin(prompt);
  let last = performance.now();
  try {
    for (let made = 0, read = 0; read < steps && !signal.aborted; read++) {
      for (; made < steps && underWay.length <= AHEAD; made++) {
        const start = performance.now();
        run();
        const js = performance.now() - start;
        underWay.push({ js, token: model.read(made + 1, stagings[made % stagings.length]) });
      }
      const { js, token: promise } = /** @type {(typeof underWay)[number]} */ (underWay.shift());
      const token = await promise;
      const now = performance.now();
      const chosen = read >= prompt.length - 1;
      if (chosen && about.stops.includes(token)) return;
      yield { token, chosen, js, ms: now - last };
      last = now;
    }
  } finally {
    await Promise.allSettled(underWay.map(({ token }) => token));
    for (const each of stagings) each.destroy();
  }
}

/** @param {GPUDevice} device */
function stagingOf(device) {
  return device.createBuffer({ size: 4, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
}
