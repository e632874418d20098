// `@polyhead/layers` as an application ships it: bundled with TensorFlow.js and minified, trained, saved, loaded.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'polyhead-layers-'));
const program = `
import { causal } from '@polyhead/core';
import { AttentionLayer, loadKerasModel, registerLayers } from '@polyhead/layers';
import { MultiHeadAttention } from '@polyhead/multi-head';
import { rotary } from '@polyhead/relative-position';
import * as tf from '@tensorflow/tfjs';

export async function train() {
  await tf.setBackend('cpu');
  registerLayers([MultiHeadAttention, rotary, causal]);
  const config = { numHeads: 2, seed: 1 };
  const attention = { kind: 'MultiHeadAttention', config, parts: { position: rotary({ headDim: 4 }) } };
  const model = tf.sequential({ layers: [new AttentionLayer({ attention, mask: causal(), inputShape: [5, 8] })] });
  model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
  const x = tf.randomNormal([2, 5, 8], 0, 1, 'float32', 1);
  await model.fit(x, tf.neg(x), { epochs: 2, verbose: 0 });
  let saved;
  await model.save(tf.io.withSaveHandler(async (artifacts) => ((saved = artifacts), { modelArtifactsInfo: {} })));
  const again = await tf.loadLayersModel(tf.io.fromMemory(JSON.parse(JSON.stringify(saved.modelTopology)), saved.weightSpecs, saved.weightData));
  return [model, again].map((m) => [...m.predict(x).dataSync()]);
}

export async function open({ topology, weights, inputs }) {
  const model = await loadKerasModel(topology, weights, { variants: [MultiHeadAttention] });
  const tensors = inputs.map(({ data, shape, dtype }) => tf.tensor(data, shape, dtype));
  return [...model.predict(tensors.length > 1 ? tensors : tensors[0]).dataSync()];
}
`;

describe('bundled and minified', () => {
  const outfile = join(folder, 'program.mjs');
  const load = () => import(/* @vite-ignore */ pathToFileURL(outfile).href);

  beforeAll(() =>
    build({
      stdin: { contents: program, resolveDir: root },
      bundle: true,
      minify: true,
      format: 'esm',
      // The modules that pages get, with what TensorFlow.js asks Node for.
      platform: 'node',
      mainFields: ['module', 'main'],
      banner: {
        js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
      },
      conditions: ['@polyhead/source'],
      logLevel: 'error',
      outfile,
    }),
  );
  afterAll(() => rmSync(folder, { recursive: true }));

  it('a model is trained, saved and loaded', async () => {
    const [one, other] = await (await load()).train();
    expect(one).toHaveLength(80);
    expect(other).toEqual(one);
  });

  it('a Keras model opens', async () => {
    const path = join(root, 'packages/layers/src/fixtures/keras/keras3-decoder.json');
    const golden = JSON.parse(readFileSync(path, 'utf8'));
    const output: number[] = await (await load()).open(golden);
    const wanted: number[] = golden.outputs[0].data;
    const errors = output.map((value, n) => Math.abs(value - wanted[n]!) / Math.max(1, Math.abs(wanted[n]!)));
    expect(Math.max(...errors)).toBeLessThan(3e-5);
  });
});
