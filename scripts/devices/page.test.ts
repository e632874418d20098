// The pages of the other tests are what they are taken for.
import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';

const { POLYHEAD_BACKEND: backend, POLYHEAD_PAGE: page } = process.env;
const isIsolated = page === 'isolated';

it('the page is isolated from other origins only where it was served so', () => {
  expect(crossOriginIsolated).toBe(isIsolated);
});

it('the wasm backend has a heap that threads share only in an isolated page', ({ skip }) => {
  skip(backend !== 'wasm', 'only wasm has such a heap');
  const { wasm } = tf.backend() as unknown as { wasm: { HEAPU8: Uint8Array } };
  expect(wasm.HEAPU8.buffer.constructor.name).toBe(isIsolated ? 'SharedArrayBuffer' : 'ArrayBuffer');
});
