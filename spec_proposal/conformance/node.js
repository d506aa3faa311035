/** node conformance/node.js [FILE...]: the tests in Node, on the Dawn of the package "webgpu"; one line of JSON a file. */

import { create, globals } from 'webgpu';
import { FILES, runFile } from './index.js';

Object.assign(globalThis, globals);
const options = JSON.parse(process.env.CONFORMANCE ?? '{}');
const gpu = create([]);
let failed = 0;
const named = process.argv.slice(2);
for (const file of named.length ? named : FILES) {
  const results = await runFile(gpu, file, options);
  failed += results.flatMap(({ cases }) => cases).filter(({ failures }) => failures.length).length;
  console.log(`\n${JSON.stringify({ file, results })}`); // Dawn's warnings end without a newline
}
process.exit(failed ? 1 : 0);
