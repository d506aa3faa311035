/** A small line chart of one quantity, token by token, drawn as SVG: colours and fonts come from the style sheet. */

const SVG = 'http://www.w3.org/2000/svg';
const MARGIN = { top: 12, right: 14, bottom: 22, left: 40 };

/** @typedef {{ id: string, values: number[], current: boolean }} Line */

export class Chart {
  #svg;
  #log;
  #lines = /** @type {Line[]} */ ([]);
  #asked = false;

  /**
   * @param {SVGSVGElement} svg
   * @param {{ log?: boolean }} [options] log: a logarithmic scale
   */
  constructor(svg, { log = false } = {}) {
    this.#svg = svg;
    this.#log = log;
    new ResizeObserver(() => this.#draw()).observe(svg);
  }

  /**
   * Shows lines from now on; drawn with the next frame.
   * @param {Line[]} lines
   */
  show(lines) {
    this.#lines = lines;
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame(() => {
      this.#asked = false;
      this.#draw();
    });
  }

  #draw() {
    const { clientWidth: width, clientHeight: height } = this.#svg;
    if (!width) return;
    const values = this.#lines.flatMap((line) => line.values);
    const scale = this.#log ? logarithmic(values) : linear(values);
    const longest = Math.max(16, ...this.#lines.map((line) => line.values.length));
    const x = (/** @type {number} */ n) => MARGIN.left + (n / (longest - 1)) * (width - MARGIN.left - MARGIN.right);
    const y = (/** @type {number} */ value) => height - MARGIN.bottom - scale.at(value) * (height - MARGIN.top - MARGIN.bottom);
    const parts = scale.ticks.flatMap((tick) => [
      element('line', { class: 'grid', x1: MARGIN.left, x2: width - MARGIN.right, y1: y(tick), y2: y(tick) }),
      element('text', { class: 'tick', x: MARGIN.left - 8, y: y(tick) + 4, 'text-anchor': 'end' }, String(tick)),
    ]);
    for (const tick of [1, longest]) {
      parts.push(element('text', { class: 'tick', x: x(tick - 1), y: height - 4, 'text-anchor': tick === 1 ? 'start' : 'end' }, tick === 1 ? 'token 1' : String(tick)));
    }
    for (const { id, values: line, current } of [...this.#lines].sort((a, b) => Number(a.current) - Number(b.current))) {
      const points = line.map((value, n) => `${x(n).toFixed(1)},${y(value).toFixed(1)}`);
      const style = `line ${id}${current ? ' current' : ''}`;
      if (points.length > 1) parts.push(element('polyline', { class: style, points: points.join(' ') }));
      if (points.length) {
        const [cx, cy] = points[points.length - 1].split(',');
        parts.push(element('circle', { class: `end ${style}`, cx, cy, r: current ? 4 : 2.5 }));
      }
    }
    this.#svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.#svg.replaceChildren(...parts);
  }
}

/** @param {number[]} values */
function linear(values) {
  const most = Math.max(...values, 0) || 10;
  const power = 10 ** Math.floor(Math.log10(most));
  const step = power * ([0.2, 0.5, 1, 2, 5].find((each) => most / (power * each) <= 4) ?? 10);
  const top = Math.ceil(most / step) * step;
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, n) => Number((n * step).toPrecision(3)));
  return { ticks, at: (/** @type {number} */ value) => value / top };
}

/** @param {number[]} values */
function logarithmic(values) {
  const positive = values.filter((value) => value > 0);
  const low = Math.floor(Math.log10(Math.min(...positive, 0.1)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...positive, 10))));
  const ticks = Array.from({ length: high - low + 1 }, (_, n) => Number((10 ** (low + n)).toPrecision(1)));
  return { ticks, at: (/** @type {number} */ value) => Math.max(0, (Math.log10(value) - low) / (high - low)) };
}

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @param {string} [text]
 */
function element(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}
