// `npx pnpm model:train` trains the small decoder on Moby Dick, and writes its file. The last chapters are held out.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { toConfig } from '@polyhead/core';
import type { Decoder } from '@polyhead/transformer';
import {
  adamW,
  clipGradients,
  crossEntropy,
  decayMatrices,
  gradientsOf,
  warmupCosine,
} from '@polyhead/transformer/training';
import { saveWeights } from '@polyhead/weights';
import * as tf from '@tensorflow/tfjs';
import { chooseBackend } from '../../backends/backend';
import { mobyDickChapters } from '../../published/moby-dick';
import { createOwnModel, ownModelFile } from './own-model';

type Rows = readonly (readonly number[])[];

const [batch, length] = [8, 128];
const heldOutChapters = 5;
const defaultSteps = 1800;

/** Random windows of a text, of one token more than the model sees; the same ones at every run. */
function windowsOf(text: Uint8Array, seed: number): () => Rows {
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0; // a linear congruential generator: Press et al. 1992
    return state / 2 ** 32;
  };
  return () =>
    Array.from({ length: batch }, () => {
      const start = Math.floor(random() * (text.length - length));
      return [...text.subarray(start, start + length + 1)];
    });
}

/** In nats a byte. */
function lossOf(model: Decoder, rows: Rows): tf.Scalar {
  const ids = rows.map((row) => row.slice(0, -1));
  const targets = rows.map((row) => row.slice(1));
  return crossEntropy(model.apply(tf.tensor2d(ids, undefined, 'int32')).logits, targets);
}

async function numberOf(compute: () => tf.Scalar): Promise<number> {
  const scalar = tf.tidy(compute);
  const [number] = await scalar.data();
  scalar.dispose();
  return number!;
}

/** Mean loss on text that the model has not seen. */
async function heldOutLoss(model: Decoder, text: Uint8Array): Promise<number> {
  const next = windowsOf(text, 7);
  const losses: number[] = [];
  for (let n = 0; n < 16; n++) losses.push(await numberOf(() => lossOf(model, next())));
  return losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
}

async function fit(model: Decoder, text: Uint8Array, steps: number): Promise<void> {
  const optimizer = adamW(model.variables, { beta2: 0.98, weightDecay: decayMatrices(0.05) });
  const rate = warmupCosine({ peak: 3e-3, warmupSteps: Math.min(100, steps - 1), steps, end: 1e-4 });
  const next = windowsOf(text, 1851);
  const start = performance.now();
  for (let step = 1; step <= steps; step++) {
    const rows = next();
    const { loss, gradients } = gradientsOf(() => lossOf(model, rows), model.variables);
    const clipped = clipGradients(gradients, 1);
    optimizer.update(clipped.gradients, rate(step));
    if (step % 50 === 0 || step === steps) {
      const speed = Math.round((step * batch * length) / ((performance.now() - start) / 1000));
      console.log(`step ${step}: ${(await loss.data())[0]!.toFixed(3)} nats a byte, ${speed} bytes a second`);
    }
    tf.dispose([loss, gradients, clipped.gradients, clipped.norm]);
  }
  optimizer.dispose();
}

async function main(): Promise<void> {
  const options = { steps: { type: 'string', default: `${defaultSteps}` }, out: { type: 'string' } } as const;
  const { values } = parseArgs({ options });
  const steps = Number(values.steps);
  const backend = await chooseBackend();
  const chapters = mobyDickChapters().map((chapter) => Buffer.from(`${chapter.trim()}\n\n`));
  const model = createOwnModel();
  const parameters = model.variables.reduce((sum, { variable }) => sum + variable.size, 0);
  console.log(`${parameters} parameters, ${steps} steps of ${batch} × ${length} bytes, on ${backend.name}`);
  await fit(model, Buffer.concat(chapters.slice(0, -heldOutChapters)), steps);
  const heldOut = await heldOutLoss(model, Buffer.concat(chapters.slice(-heldOutChapters)));
  console.log(`held-out chapters: ${heldOut.toFixed(3)} nats a byte`);
  const metadata = { config: JSON.stringify(toConfig(model)), heldOut: heldOut.toFixed(4) };
  writeFileSync(values.out ?? ownModelFile, await saveWeights(model, { type: 'F16', metadata }));
  model.dispose();
}

await main();
