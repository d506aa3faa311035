/**
 * node tools/idl.js: parses the Web IDL of the proposal, merged with what the browser has of the same interfaces, and compares it
 * with the surface of the polyfill. Prints JSON: the names that were compared, and the differences.
 */

import { readFileSync, readdirSync } from 'node:fs';
import { parse, validate } from 'webidl2';
import { create, globals } from 'webgpu';
import { install } from '../polyfill/index.js';

Object.assign(globalThis, globals);
install();
const OWN = /^GPU(ComputeBundle|CommandGraph)/;
const definitions = parse(source());
const problems = validate(definitions).filter(({ ruleName }) => ruleName !== 'incomplete-op').map(({ bareMessage }) => bareMessage);
const members = membersByInterface(definitions);
const compared = [];
for (const [name, wanted] of members) {
  const type = globalThis[name];
  if (!type) {
    problems.push(`${name} is missing`);
    continue;
  }
  for (const member of wanted) compare(name, type.prototype, member);
  if (OWN.test(name)) refuseOthers(name, type.prototype, wanted);
}
await compareAttributes();
console.log(JSON.stringify({ compared, problems }));
process.exit(problems.length ? 1 : 0);

function source() {
  const folder = new URL('../sections/', import.meta.url);
  const texts = readdirSync(folder).sort().map((name) => readFileSync(new URL(name, folder), 'utf8'));
  return texts.flatMap((text) => [...text.matchAll(/<script type=idl>(.*?)<\/script>/gs)].map(([, idl]) => idl)).join('\n');
}

/** Operations of each interface with those of its mixins; mixins of WebGPU are known by name. */
function membersByInterface(all) {
  const { GPUComputePassEncoder } = globalThis;
  const native = (...names) => names.map((name) => ({ type: 'operation', name, required: GPUComputePassEncoder.prototype[name] ? null : NaN }));
  const mixins = new Map([
    ['GPUBindingCommandsMixin', native('setBindGroup', 'setImmediates')],
    ['GPUDebugCommandsMixin', native('pushDebugGroup', 'popDebugGroup', 'insertDebugMarker')],
    ['GPUObjectBase', [{ type: 'label', name: 'label' }]],
    ['GPUCommandsMixin', []],
  ]);
  const found = new Map();
  const operations = ({ members: list }) =>
    list
      .filter(({ type }) => type === 'operation')
      .map(({ name, arguments: given }) => ({ type: 'operation', name, required: given.filter(({ optional }) => !optional).length }));
  for (const each of all) if (each.type === 'interface mixin') mixins.set(each.name, operations(each));
  for (const each of all) {
    if (each.type === 'interface' && each.name !== 'GPUSupportedLimits') found.set(each.name, [...(found.get(each.name) ?? []), ...operations(each)]);
    if (each.type === 'includes') found.get(each.target)?.push(...mixins.get(each.includes));
  }
  return found;
}

function compare(name, prototype, { type, name: member, required }) {
  compared.push(`${name}.${member}`);
  if (type === 'label') return; // an own property: see below
  const found = prototype[member];
  if (typeof found !== 'function') problems.push(`${name}.${member} is missing`);
  else if (required !== null && found.length !== required) problems.push(`${name}.${member} requires ${found.length} arguments, not ${required}`);
}

function refuseOthers(name, prototype, wanted) {
  const names = new Set(['constructor', ...wanted.map(({ name: member }) => member)]);
  for (let each = prototype; each !== Object.prototype; each = Object.getPrototypeOf(each)) {
    for (const member of Object.getOwnPropertyNames(each)) {
      if (!names.has(member)) problems.push(`${name}.${member} is not in the text`);
    }
  }
}

/** Attributes need objects. */
async function compareAttributes() {
  const adapter = await create([]).requestAdapter();
  const device = await adapter.requestDevice({ requiredFeatures: ['command-graph'] });
  for (const each of definitions) {
    if (each.name !== 'GPUSupportedLimits') continue;
    for (const { name } of each.members) {
      compared.push(`GPUSupportedLimits.${name}`);
      if (!(device.limits[name] > 0)) problems.push(`GPUSupportedLimits.${name} is missing`);
    }
  }
  const bundles = device.createComputeBundleEncoder();
  const graphs = device.createCommandGraphEncoder();
  const objects = [bundles, bundles.finish(), graphs, graphs.beginComputePass(), device.createCommandGraphEncoder().finish()];
  for (const object of objects) {
    const keys = Object.keys(object);
    if (String(keys) !== 'label') problems.push(`${object.constructor.name} has the properties ${keys}`);
  }
}
