/**
 * A small harness in the style of the WebGPU conformance test suite: groups of tests with a description, the identifiers of
 * the sentences that they test, and crossed parameters. Every combination of parameters is a case.
 */

/** Tests by file. */
export const suite = new Map();

/**
 * The group of a file's tests.
 * @param {string} url `import.meta.url`
 */
export function group(url) {
  const file = url.slice(url.lastIndexOf('/') + 1).replace('.spec.js', '');
  const tests = [];
  suite.set(file, tests);
  return {
    test(name) {
      const test = { name, description: '', covers: [], cases: [{}], beyond: '', run: null };
      tests.push(test);
      return builder(test);
    },
  };
}

function builder(test) {
  return {
    /** What is tested. */
    desc(text) {
      test.description = text;
      return this;
    },
    /** The sentences of index.bs, by identifier. */
    covers(...ids) {
      test.covers = ids;
      return this;
    },
    /** Every combination of the values. */
    params(values) {
      test.cases = Object.entries(values).reduce(
        (cases, [name, list]) => cases.flatMap((each) => list.map((value) => ({ ...each, [name]: value }))),
        [{}],
      );
      return this;
    },
    /** Why a polyfill cannot pass: it is run against implementations only. */
    beyondPolyfills(reason) {
      test.beyond = reason;
      return this;
    },
    fn(steps) {
      test.run = steps;
    },
  };
}

/**
 * Runs the tests of a file.
 * @param {string} file
 * @param {(failures: string[]) => Promise<any>} makeKit makes what a test is given; it collects failures
 * @param {{ only?: string, polyfilled: boolean }} options `only` names one test
 */
export async function run(file, makeKit, { only, polyfilled }) {
  const results = [];
  for (const test of suite.get(file)) {
    if (only && test.name !== only) continue;
    const skipped = polyfilled ? test.beyond : '';
    const cases = [];
    for (const params of skipped ? [] : test.cases) {
      const failures = [];
      const kit = await makeKit(failures);
      try {
        await test.run(kit, params);
      } catch (error) {
        failures.push(`threw ${error?.stack ?? error}`);
      }
      await kit.settle();
      cases.push({ params: JSON.stringify(params), failures });
    }
    results.push({ test: test.name, description: test.description, covers: test.covers, skipped, cases });
  }
  return results;
}
