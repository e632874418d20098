// The other end of contests/layer.ts: a layer and its parts, timed in a process that runs a bundle, as applications do.
import { createInterface } from 'node:readline';
import '@tensorflow/tfjs';
import { attend, causal, composed } from '@polyhead/core';
import { denseProducts } from '@polyhead/dense';
import { flash } from '@polyhead/flash';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { StaticCache } from '@polyhead/kv-cache';
import { rotary } from '@polyhead/relative-position';
import { setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import * as tf from '@tensorflow/tfjs-core';
import { timed } from '../measure/timed';
import { type LayerWork, layerOps } from './layer-work';

const { work, wasmPath } = JSON.parse(process.argv.at(-1)!) as { work: LayerWork; wasmPath: string };
const { width: E, heads, keyValueHeads, tokens, keys, calls } = work;
const D = E / heads;
const normal = <R extends tf.Rank>(shape: tf.ShapeMap[R], seed: number) =>
  tf.randomNormal<R>(shape, 0, 1, 'float32', seed);

/** A layer with a cache that holds the earlier tokens before each turn. */
function layerWith(parts: object) {
  const sizes = { embedDim: E, numHeads: heads, numKeyValueHeads: keyValueHeads, seed: 1 };
  const layer = new GroupedQueryAttention(sizes, { position: rotary({ headDim: D }), ...parts });
  const cache = new StaticCache(layer.cacheShape(1), { capacity: keys + calls * tokens });
  const earlier = Math.max(0, keys - Math.floor((calls * tokens) / 2));
  const before = () => (tokens === 1 ? cache.crop([earlier]) : cache.reset());
  if (tokens === 1) {
    const query = normal<tf.Rank.R3>([1, earlier, E], 3);
    tf.dispose([query, layer.apply({ query }, { mask: causal(), cache }).output]);
  }
  const query = normal<tf.Rank.R3>([1, tokens, E], 5);
  // A mask of its own for each call, as decoding has.
  return { before, run: () => layer.apply({ query }, { mask: causal(), cache }).output };
}

async function makeJobs() {
  setWasmPaths(wasmPath);
  await tf.setBackend('wasm');
  const kernel = flash();
  await kernel.prepare?.();
  const x = normal<tf.Rank.R3>([1, tokens, E], 5);
  const weights = [E, keyValueHeads * D, keyValueHeads * D, E].map((out) => normal<tf.Rank.R2>([E, out], 6));
  const products = () => tf.tidy(() => weights.map((matrix) => tf.matMul(x, matrix as tf.Tensor)).at(-1)!);
  const [query, key, value] = [heads, keyValueHeads, keyValueHeads].map((h, n) =>
    normal([1, h, tokens, D], n),
  );
  const attention = () =>
    attend(kernel, { query: query!, key: key!, value: value! }, { mask: causal() }).output;
  const before = () => {};
  return {
    [layerOps.layer]: layerWith({ kernel }),
    [layerOps.dense]: layerWith({ kernel, products: denseProducts() }),
    [layerOps.products]: { before, run: products },
    [layerOps.parts]: {
      before,
      run: () => {
        attention().dispose();
        return products();
      },
    },
  };
}

const jobs = await makeJobs();
/** What layers should give. */
const reference = layerWith({ kernel: composed() });

function numbersOf({ before, run }: (typeof jobs)[string & keyof typeof jobs]): Float32Array {
  before();
  const output = run();
  const numbers = output.dataSync<'float32'>().slice();
  output.dispose();
  return numbers;
}

function errorOf(numbers: Float32Array, expected: Float32Array): number {
  const most = expected.reduce((largest, x) => Math.max(largest, Math.abs(x)), 0);
  return numbers.reduce((worst, x, n) => Math.max(worst, Math.abs(x - expected[n]!)), 0) / most;
}

function turnOf({ before, run }: (typeof jobs)[string & keyof typeof jobs]) {
  before();
  return timed(() => {
    for (let n = 0; n < calls; n++) run().dispose();
  });
}

/** A token is compiled JavaScript only after some thousand calls. */
const warmUpTurns = tokens === 1 ? 150 : 1;
for (let n = 0; n < warmUpTurns; n++) for (const job of Object.values(jobs)) await turnOf(job);

const answer = (message: object) => process.stdout.write(`${JSON.stringify(message)}\n`);

answer({ version: tf.version_core });
for await (const line of createInterface({ input: process.stdin })) {
  const { turn, error } = JSON.parse(line) as Record<'turn' | 'error', keyof typeof jobs | undefined>;
  const job = jobs[turn ?? error!];
  if (error) {
    answer({ error: errorOf(numbersOf(job), numbersOf(reference)) });
    continue;
  }
  answer((await turnOf(job)).turn);
}
