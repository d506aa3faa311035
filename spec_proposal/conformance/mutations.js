/**
 * node conformance/mutations.js [RULE...]: takes rules out of the polyfill, one at a time, and runs the tests that name them.
 * A rule is proved when a case that passes with it fails without it. The browser's own verdict at finish is left out: it would
 * find again what a rule has missed. Prints one line of JSON a rule.
 */

import { readFileSync, readdirSync } from 'node:fs';
import { create, globals } from 'webgpu';
import { runFile } from './index.js';

Object.assign(globalThis, globals);
const { rules } = await import('../polyfill/rules.js');
const gpu = create([]);
const named = process.argv.slice(2);
let survivors = 0;
for (const rule of named.length ? named : Object.keys(rules)) {
  const killed = [];
  for (const [file, only] of testsOf(rule)) {
    const [control, mutant] = [await cases(file, { only }), await cases(file, { only, without: rule })];
    for (const [params, passes] of control) if (passes && !mutant.get(params)) killed.push(`${file}:${only} ${params}`);
  }
  if (!killed.length) survivors++;
  console.log(`\n${JSON.stringify({ rule, killed })}`);
}
process.exit(survivors ? 1 : 0);

/** Whether each case passes. */
async function cases(file, options) {
  const [result] = await runFile(gpu, file, { ...options, rehearse: false });
  return new Map(result.cases.map(({ params, failures }) => [params, !failures.length]));
}

/** The tests that name a rule: file and test. */
function testsOf(rule) {
  const folder = new URL('tests/', import.meta.url);
  return readdirSync(folder).flatMap((name) =>
    readFileSync(new URL(name, folder), 'utf8')
      .split("g.test('")
      .slice(1)
      .filter((part) => part.split(')\n').some((line) => line.includes('.covers(') && line.includes(`'${rule}'`)))
      .map((part) => [name.replace('.spec.js', ''), part.slice(0, part.indexOf("'"))]),
  );
}
