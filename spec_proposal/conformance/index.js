/** Installs the polyfill and runs conformance tests; the browser page and the runner for Node use it alike. */

import { install } from '../polyfill/index.js';
import { settings } from '../polyfill/recorder.js';
import { rules } from '../polyfill/rules.js';
import { run } from './framework.js';

export const FILES = ['create', 'finish', 'state', 'dispatch', 'indirect', 'complete', 'execute', 'results', 'reset', 'lifetime', 'limits', 'graph'];

/**
 * Runs the tests of one file.
 * @param {GPU} gpu
 * @param {string} file
 * @param {{ only?: string, without?: string, rehearse?: boolean }} options `without` takes a rule out of the polyfill
 */
export async function runFile(gpu, file, { only, without, rehearse = true } = {}) {
  const polyfilled = install();
  const { Kit, openDevice } = await import('./kit.js');
  await import(`./tests/${file}.spec.js`);
  settings.rehearse = rehearse;
  const rule = without && rules[without];
  if (without && !rule) throw new Error(`the polyfill has no rule "${without}"`);
  if (without) rules[without] = () => null;
  try {
    const device = await openDevice(gpu);
    return await run(file, (failures) => new Kit(gpu, device, failures), { only, polyfilled });
  } finally {
    if (without) rules[without] = rule;
    settings.rehearse = true;
  }
}
