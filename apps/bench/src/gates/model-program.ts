// A model of ours with its weights in one form, driven by contests/model.ts.
import '@tensorflow/tfjs';
import { setDefaultProducts } from '@polyhead/core';
import { denseProducts } from '@polyhead/dense';
import { generate } from '@polyhead/transformer';
import { setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import * as tf from '@tensorflow/tfjs-core';
import { loadGguf } from '../model/load-gguf';
import { decoderOf } from '../model/loaded-model';
import { cacheOf, kernelsHere } from '../model/ways';
import { weightForms } from '../model/weight-forms';
import { serveModel } from './model-child';
import type { OwnModelWork } from './model-work';
import { allowRelaxedSimd } from './relaxed-simd';

await serveModel(async ({ path, prompt, tokens, form, wasmPath }: OwnModelWork) => {
  allowRelaxedSimd();
  setWasmPaths(wasmPath);
  await tf.setBackend('wasm');
  const { keepBlocks, isDense } = weightForms[form];
  if (isDense) setDefaultProducts(denseProducts());
  const kernel = (await kernelsHere()).at(-1)!;
  const decoder = decoderOf((await loadGguf(path, { keepBlocks })).model);
  const held = prompt.length - 1;
  const cache = cacheOf('static', decoder, { tokens: held + tokens + 1 })!;
  const ids = tf.tensor2d([prompt.slice(0, held)], undefined, 'int32');
  tf.dispose([ids, tf.tidy(() => decoder.apply(ids, { cache, kernel }).logits)]);
  return {
    version: tf.version_core,
    reset: () => cache.crop([held]),
    async *generate() {
      const options = { cache, kernel, maxTokens: tokens };
      for await (const { token } of generate(decoder, prompt.slice(held), options)) yield token;
    },
  };
});
