/** The last run of each way: its samples, their medians, and what charts and table show of them. */

import { WAYS } from './ways.js';

/** @typedef {{ ms: number[], js: number[], dispatches: number }} Run ms a token; us of JavaScript a dispatch */

export class Runs {
  #runs = new Map();
  #current = '';

  /**
   * Begins the run of a way, in the place of its last one.
   * @param {string} way
   * @param {number} dispatches
   */
  begin(way, dispatches) {
    this.#current = way;
    this.#runs.set(way, { ms: [], js: [], dispatches });
  }

  /** @param {import('./generation.js').Step} step */
  add({ ms, js }) {
    const run = this.current;
    // The first token also waited for the prompt.
    if (run.js.length) run.ms.push(ms);
    run.js.push((1000 * js) / run.dispatches);
  }

  /** @returns {Run} */
  get current() {
    return this.#runs.get(this.#current);
  }

  /**
   * @param {'ms' | 'js'} quantity
   * @returns {import('./chart.js').Line[]}
   */
  lines(quantity) {
    return [...this.#runs].map(([id, run]) => ({ id, values: run[quantity], current: id === this.#current }));
  }

  /** A row for each way: medians, null where there is no run yet. */
  rows() {
    return WAYS.map(({ id, name }) => {
      const run = this.#runs.get(id);
      return { id, name, current: id === this.#current, tokens: run?.js.length ?? 0, ms: median(run?.ms), js: median(run?.js) };
    });
  }
}

/**
 * @param {number[]} [values]
 * @returns {number | null}
 */
export function median(values = []) {
  if (!values.length) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
