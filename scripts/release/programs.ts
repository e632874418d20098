// What fresh projects run, beside the examples of the documents.

/** Decoding with grouped heads, a cache and the fused kernel gives the numbers of one pass. */
const decoding = `
export async function decode() {
  await tf.setBackend('wasm');
  const kernel = flash();
  await kernel.prepare?.();
  const attention = new GroupedQueryAttention(
    { embedDim: 8, numHeads: 4, numKeyValueHeads: 2, seed: 1 },
    { kernel, position: rotary({ headDim: 2 }) },
  );
  const tokens = tf.randomNormal([1, 6, 8], 0, 1, 'float32', 1);
  const whole = attention.apply({ query: tokens }, { mask: causal() });
  const cache = new GrowingCache(attention.cacheShape(1));
  const steps = tf.split(tokens, 6, 1).map((query) => attention.apply({ query }, { mask: causal(), cache }).output);
  const difference = tf.max(tf.abs(tf.sub(whole.output, tf.concat(steps, 1))));
  const isSame = (await difference.data())[0] < 1e-5;
  let refused = '';
  try {
    attention.apply({ query: tf.zeros([1, 6, 7]) });
  } catch (error) {
    refused = isAttentionError(error) ? error.name : String(error);
  }
  return [tf.getBackend(), whole.kernel, isSame ? 'same numbers' : 'other numbers', refused].join(', ');
}
`;

export const decoded = 'wasm, flashWasm, same numbers, ShapeError';

/** The packages that it imports. */
export const decodingPackages = [
  '@polyhead/core',
  '@polyhead/flash',
  '@polyhead/grouped-query',
  '@polyhead/kv-cache',
  '@polyhead/relative-position',
  '@tensorflow/tfjs-backend-wasm',
  '@tensorflow/tfjs-core',
];

const imports = `import * as tf from '@tensorflow/tfjs-core';
import { setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import { causal, isAttentionError } from '@polyhead/core';
import { flash } from '@polyhead/flash';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { GrowingCache } from '@polyhead/kv-cache';
import { rotary } from '@polyhead/relative-position';
`;

/** @param wasmFiles where the page finds the files of the wasm backend */
export function pageProgram(wasmFiles: string): string {
  return `${imports}${decoding}
setWasmPaths(${JSON.stringify(wasmFiles)});
decode().then(
  (words) => { document.title = words; },
  (error) => { document.title = 'failed: ' + (error?.message ?? error); },
);
`;
}

/** For Node; a bundle has to be told where the files of the wasm backend are. */
export function nodeProgram(wasmFiles?: string): string {
  const paths = wasmFiles ? `setWasmPaths(${JSON.stringify(wasmFiles)});` : 'void setWasmPaths;';
  return `${imports}${decoding}
${paths}
decode().then((words) => console.log(words));
`;
}

export const jestTest = `${imports}${decoding}
test('decodes', async () => {
  void setWasmPaths;
  expect(await decode()).toBe(${JSON.stringify(decoded)});
});
`;

/** Declarations that resolve to \`any\` would let this pass. */
export const wronglyTyped = `import { MultiHeadAttention } from '@polyhead/multi-head';
// @ts-expect-error the config must be typed
new MultiHeadAttention({ embedDim: 'wide', numHeads: 1 });
`;
