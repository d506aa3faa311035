/** What can keep the page from working, and what a visitor can do about it. */

const PROBLEMS = {
  'no-webgpu': {
    title: 'This browser has no WebGPU',
    advice:
      'Open the page in a current Chrome, Edge, Safari or Firefox. Where a browser still keeps WebGPU behind a switch, as Chrome does on some ' +
      'Linux machines, turn it on at chrome://flags/#enable-unsafe-webgpu.',
  },
  'not-secure': {
    title: 'The browser offers WebGPU to secure pages only',
    advice: 'Open this page from http://localhost or by https.',
  },
  'no-adapter': {
    title: 'WebGPU finds no GPU here',
    advice:
      'Update the graphics driver, or allow hardware acceleration in the settings of the browser. Chrome can also run WebGPU on the processor, ' +
      'slowly: start it with --enable-unsafe-webgpu.',
  },
  'too-little': { title: 'This GPU offers too little for the model', advice: 'Try another browser or another GPU.' },
  'no-device': { title: 'The GPU could not be opened', advice: 'Close other pages that use the GPU, then reload this one.' },
  'no-model': { title: 'The files of the model are not here', advice: 'Build and serve them: make web-demo.' },
  unreachable: { title: 'The files of the model did not arrive', advice: 'See that make web-demo still runs and that the network is there, then reload.' },
  damaged: { title: 'The saved graph does not work here', advice: 'Build it again: make web-demo.' },
  lost: { title: 'The GPU was lost', advice: 'The driver was reset, or the browser took the GPU away. Reload the page.' },
  unknown: { title: 'Something went wrong', advice: 'Reload the page.' },
};

/** An error that a visitor is told of. */
export class Problem extends Error {
  /**
   * @param {keyof typeof PROBLEMS} kind
   * @param {string} [detail] what exactly, for those who want to know
   */
  constructor(kind, detail = '') {
    super(PROBLEMS[kind].title);
    this.kind = kind;
    this.advice = PROBLEMS[kind].advice;
    this.detail = detail;
  }
}

/**
 * Any error as a problem.
 * @param {unknown} error
 */
export function problemOf(error) {
  return error instanceof Problem ? error : new Problem('unknown', error instanceof Error ? error.message : String(error));
}

/**
 * What the reader of saved graphs promises; what it throws is that the file does not work here.
 * @template T
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
export async function explained(promise) {
  try {
    return await promise;
  } catch (error) {
    throw error instanceof Problem ? error : new Problem('damaged', /** @type {Error} */ (error).message);
  }
}
