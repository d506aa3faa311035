/** Encodes and decodes with the demo page's tokenizer: node encode.js tokenizer.json texts.json */

import { readFile } from 'node:fs/promises';
import { Tokenizer } from '../../spec_proposal/demo/tokenizer.js';

const [description, texts] = await Promise.all(process.argv.slice(2).map(async (path) => JSON.parse(await readFile(path, 'utf8'))));
const tokenizer = new Tokenizer(description);
const ids = texts.map((text) => tokenizer.encode(text));
console.log(JSON.stringify({ ids, texts: ids.map((each) => tokenizer.decode(each)) }));
