/** Puts what the page knows into its elements. */

/**
 * @param {string} id
 * @returns {any}
 */
export function byId(id) {
  return document.getElementById(id);
}

/**
 * The value of the radio button that is chosen.
 * @param {string} name
 * @returns {string}
 */
export function chosen(name) {
  return /** @type {HTMLInputElement} */ (document.querySelector(`input[name="${name}"]:checked`)).value;
}

/**
 * @param {string} name
 * @param {string} value
 */
export function choose(name, value) {
  /** @type {HTMLInputElement} */ (document.querySelector(`input[name="${name}"][value="${value}"]`)).checked = true;
}

/** @param {typeof import('./ways.js').WAYS} ways */
export function offerWays(ways) {
  for (const { id, name, means } of ways) {
    const input = made('input', { type: 'radio', name: 'way', value: id, checked: id === 'bundle' });
    const label = made('label', { className: `way ${id}` });
    label.append(input, made('b', {}, name), made('span', {}, means));
    byId('ways').append(label);
  }
}

/** @param {import('./model.js').About} about */
export function offerPrompts({ prompts, chat, context }) {
  byId('prompt').value = prompts[0]?.text ?? '';
  byId('count').max = String(context);
  byId('modes').hidden = !chat;
  for (const { text, chat: answer } of prompts) {
    const button = made('button', { type: 'button', title: text }, text.length > 26 ? `${text.slice(0, 24).replace(/[\s,]+$/, '')}…` : text);
    button.addEventListener('click', () => {
      byId('prompt').value = text;
      choose('mode', answer ? 'chat' : 'continue');
      byId('prompt').focus();
    });
    byId('examples').append(button);
  }
}

/**
 * @param {GPUAdapter} adapter
 * @param {boolean} software
 */
export function showAdapter({ info }, software) {
  const names = [info.vendor, info.architecture, info.description || info.device].filter(Boolean);
  const words = [...new Set(names)].join(' ') || 'a GPU that tells no name';
  byId('adapter').textContent = software ? `${words} · on the processor` : words;
  byId('adapter').hidden = false;
  byId('software').hidden = !software;
}

/**
 * @param {number} done
 * @param {number} total in bytes
 * @param {'fetch' | 'prepare'} phase
 */
export function showLoading(done, total, phase) {
  const progress = byId('progress');
  progress.hidden = false;
  if (phase === 'fetch') progress.value = done / total;
  else progress.removeAttribute('value');
  const [mega, all] = [done, total].map((bytes) => (bytes / 1e6).toFixed(0));
  byId('loading-text').textContent = phase === 'fetch' ? `Weights: ${mega} of ${all} MB` : 'Checking the graph and moving it to the GPU';
}

/** @param {import('./problems.js').Problem} problem */
export function showProblem({ message, advice, detail }) {
  byId('problem-title').textContent = message;
  byId('problem-advice').textContent = advice;
  byId('problem-detail').textContent = detail;
  byId('problem').hidden = false;
}

/** @param {ReturnType<import('./runs.js').Runs['rows']>} rows */
export function showFigures(rows) {
  const current = rows.find((row) => row.current);
  byId('ms').value = number(current?.ms);
  byId('js').value = number(current?.js);
  byId('rows').replaceChildren(
    ...rows.map(({ id, name, current: now, tokens, ms, js }) => {
      const row = made('tr', { className: `${id}${now ? ' current' : ''}` });
      row.append(made('th', { scope: 'row' }, name), ...[tokens || '–', number(ms), number(js)].map((each) => made('td', {}, String(each))));
      return row;
    }),
  );
  byId('verdict').textContent = verdict(rows.map(({ js }) => js));
}

/** @param {(number | null)[]} js of the three ways */
function verdict([perOp, onePass, bundle]) {
  if (!perOp || !onePass || !bundle) return '';
  const [loop, recorded] = [onePass, bundle].map((each) => Math.round(perOp / each));
  return `Per op takes ${loop} times the JavaScript of one pass, and ${recorded} times that of a bundle.`;
}

/** @param {number | null | undefined} value of which three figures are told */
function number(value) {
  if (value === null || value === undefined) return '–';
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(value < 0.1 ? 2 : 3)));
}

/**
 * @param {string} name
 * @param {Record<string, unknown>} properties
 * @param {string} [text]
 */
function made(name, properties, text) {
  const element = document.createElement(name);
  Object.assign(element, properties);
  if (text !== undefined) element.textContent = text;
  return element;
}
