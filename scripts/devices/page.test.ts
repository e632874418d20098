// The pages of the other tests are what they are taken for, and threads are where they can be.
import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import { attend, causal, firstSupported } from '../../packages/core/src/index';
import { denseProducts } from '../../packages/dense/src/index';
import { flash } from '../../packages/flash/src/index';

const { POLYHEAD_BACKEND: backend, POLYHEAD_PAGE: page } = process.env;
const isIsolated = page === 'isolated';

it('the page is isolated from other origins only where it was served so', () => {
  expect(crossOriginIsolated).toBe(isIsolated);
});

if (backend === 'wasm') {
  it('the heap of the backend is one that threads share only in an isolated page', () => {
    const { wasm } = tf.backend() as unknown as { wasm: { HEAPU8: Uint8Array } };
    expect(wasm.HEAPU8.buffer.constructor.name).toBe(isIsolated ? 'SharedArrayBuffer' : 'ArrayBuffer');
  });

  it('flash has threads only in an isolated page, says so, and computes the same', async () => {
    const heads = (seed: number) => tf.randomNormal<tf.Rank.R4>([1, 4, 400, 32], 0, 1, 'float32', seed);
    const inputs = { query: heads(1), key: heads(2), value: heads(3) };
    const options = { mask: causal() };
    const kernel = flash({ threads: 2 });
    await kernel.prepare!();
    const [explained] = firstSupported([kernel]).explain(inputs, options);
    expect(explained!.notes.join()).toMatch(isIsolated ? / SIMD, 2 threads$/ : /one thread.*isolat/);
    const [shared, alone] = [kernel, flash()].map((each) => attend(each, inputs, options).output);
    expect(await shared!.data()).toEqual(await alone!.data());
    kernel.dispose!();
  });

  it('products have threads only in an isolated page, too', async () => {
    const sizes = { rows: 600, inDim: 256, outDim: 400 };
    const x = tf.randomNormal<tf.Rank.R3>([1, sizes.rows, sizes.inDim], 0, 1, 'float32', 1);
    const weights = tf.randomNormal<tf.Rank.R2>([sizes.inDim, sizes.outDim], 0, 1, 'float32', 2);
    const call = { x, weights, transposed: false, sizes };
    const products = denseProducts({ threads: 2 });
    await products.prepare!();
    expect(products.notes!(call).join()).toMatch(isIsolated ? / SIMD, 2 threads$/ : /one thread.*isolat/);
    const [shared, alone] = [products, denseProducts()].map((each) => each.run(call));
    expect(await shared!.data()).toEqual(await alone!.data());
    products.dispose!();
  });
}
