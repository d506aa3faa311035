/** The page: what its controls do, and what they say meanwhile. */

import { Chart } from './chart.js';
import { generate } from './generation.js';
import { describe, findAdapter, isSoftware, load } from './model.js';
import { Problem, problemOf } from './problems.js';
import { Runs } from './runs.js';
import { WAYS } from './ways.js';
import { byId, choose, chosen, offerPrompts, offerWays, showAdapter, showFigures, showLoading, showProblem } from './view.js';

const FOLDER = '../model';
const MB = 1e6;

const runs = new Runs();
const charts = { ms: new Chart(byId('ms-chart')), js: new Chart(byId('js-chart'), { log: true }) };
/** @type {import('./model.js').Model | null} */
let model = null;
/** @type {AbortController | null} */
let running = null;

begin().catch(fail);

/** Finds out whether the model can run here, and offers to load it. */
async function begin() {
  offerWays(WAYS);
  refresh();
  const about = await describe(FOLDER);
  const adapter = await findAdapter();
  const software = isSoftware(adapter);
  const { bytes, dispatches } = about.graphs[software ? 'software' : 'gpu'];
  showAdapter(adapter, software);
  byId('dispatches').textContent = dispatches.toLocaleString('en');
  offerPrompts(about);
  const button = byId('load');
  button.textContent = `Load ${about.title} · ${(bytes / MB).toFixed(bytes < MB ? 1 : 0)} MB`;
  button.disabled = false;
  button.addEventListener('click', () => prepare(about, adapter).catch(fail), { once: true });
}

/**
 * @param {import('./model.js').About} about
 * @param {GPUAdapter} adapter
 */
async function prepare(about, adapter) {
  byId('load').hidden = true;
  model = await load(FOLDER, about, adapter, showLoading);
  model.device.lost.then(({ message }) => fail(new Problem('lost', message)));
  model.device.addEventListener('uncapturederror', ({ error }) => fail(new Problem('unknown', error.message)));
  byId('loading').hidden = true;
  byId('text').hidden = false;
  byId('controls').disabled = false;
  say('Ready.');
  byId('composer').addEventListener('submit', (event) => {
    event.preventDefault();
    perform([chosen('way')]).catch(fail);
  });
  byId('compare').addEventListener('click', () => byId('composer').reportValidity() && perform(WAYS.map(({ id }) => id)).catch(fail));
  byId('stop').addEventListener('click', () => running?.abort());
  byId('prompt').addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) byId('composer').requestSubmit();
  });
  addEventListener('keydown', (event) => event.key === 'Escape' && running?.abort());
  byId('prompt').focus({ preventScroll: true });
}

/**
 * Writes one text by each of the ways in turn.
 * @param {string[]} ways
 */
async function perform(ways) {
  if (!model || running) return;
  running = new AbortController();
  const { signal } = running;
  busy(true);
  try {
    const texts = new Set();
    for (const way of ways) {
      if (signal.aborted) break;
      choose('way', way);
      texts.add(await write(model, way, signal));
    }
    if (ways.length > 1 && !signal.aborted) say(texts.size === 1 ? 'The same text by all three ways.' : 'The texts differ.');
  } finally {
    running = null;
    busy(false);
  }
}

/**
 * Writes a text by one way, showing it as it comes.
 * @param {import('./model.js').Model} to
 * @param {string} way
 * @param {AbortSignal} signal
 * @returns {Promise<string>}
 */
async function write(to, way, signal) {
  const { chat, context } = to.about;
  const prompt = byId('prompt').value;
  const ids = to.tokenizer.encode(chosen('mode') === 'chat' && chat ? chat.before + prompt + chat.after : prompt);
  if (!ids.length || ids.length > context) {
    say(ids.length ? `The prompt has ${ids.length} tokens, and there is room for ${context}: shorten it.` : 'Nothing to begin with: write a prompt.');
    return '';
  }
  const [given, made, next] = [byId('given'), byId('made'), to.tokenizer.decoder()];
  given.textContent = chosen('mode') === 'chat' ? `${prompt}\n\n` : prompt;
  made.textContent = '';
  runs.begin(way, to.dispatches);
  let read = 1;
  for await (const step of generate(to, way, ids, byId('count').valueAsNumber, signal)) {
    if (!step.chosen) {
      say(`Reading the prompt: ${++read} of ${ids.length} tokens`);
      continue;
    }
    made.textContent += next(step.token);
    runs.add(step);
    say(`Writing, token ${runs.current.js.length}`);
    refresh();
  }
  made.textContent += next();
  const count = runs.current.js.length;
  say(signal.aborted ? `Stopped after ${count} tokens.` : `${count} tokens.`);
  refresh();
  return made.textContent;
}

function refresh() {
  const rows = runs.rows();
  charts.ms.show(runs.lines('ms'));
  charts.js.show(runs.lines('js'));
  showFigures(rows);
}

/** @param {boolean} writing */
function busy(writing) {
  byId('go').hidden = writing;
  byId('stop').hidden = !writing;
  byId('text').classList.toggle('writing', writing);
  for (const id of ['compare', 'prompt', 'ways', 'modes', 'count', 'examples']) {
    for (const each of [byId(id), ...byId(id).querySelectorAll('input, button')]) each.disabled = writing;
  }
  byId(writing ? 'stop' : 'go').focus({ preventScroll: true });
}

/** @param {string} words */
function say(words) {
  byId('status').textContent = words;
}

/** @param {unknown} error */
function fail(error) {
  running?.abort();
  byId('controls').disabled = true;
  // What cannot be used is not shown; a text that was written and its figures stay.
  for (const id of ['composer', 'figures']) byId(id).hidden = !model;
  say('');
  showProblem(problemOf(error));
}
