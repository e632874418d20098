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
import { firstLine } from '../../../../scripts/backends/errors';
import { relativeError } from '../measure/relative-error';
import { type Turn, timed } from '../measure/timed';
import { type LayerGreeting, type LayerWork, layerOps, onnxOp } from './layer-work';
import { openOnnxLayer } from './onnx-layer';
import { onnxPeers } from './peers/onnxruntime';
import { allowRelaxedSimd } from './relaxed-simd';

const { work, wasmPath } = JSON.parse(process.argv.at(-1)!) as { work: LayerWork; wasmPath: string };
const { width: E, heads, keyValueHeads, tokens, keys, calls } = work;
const D = E / heads;
const normal = <R extends tf.Rank>(shape: tf.ShapeMap[R], seed: number) =>
  tf.randomNormal<R>(shape, 0, 1, 'float32', seed);

/** What takes part, before its cache is taken back and its calls are timed. */
interface Job {
  turn(): Promise<Turn>;
  /** Of one call, where it is a layer. */
  numbers?(): Promise<Float32Array>;
}

function tensorJob(run: () => tf.Tensor, before = () => {}): Job {
  return {
    async turn() {
      before();
      const { turn } = await timed(() => {
        for (let n = 0; n < calls; n++) run().dispose();
      });
      return turn;
    },
    async numbers() {
      before();
      return tf.tidy(() => run().dataSync<'float32'>().slice());
    },
  };
}

/** Tokens in the cache before a turn, of which the work's are in the middle. */
const earlier = Math.max(0, keys - Math.floor((calls * tokens) / 2));
const capacity = keys + calls * tokens;

/** A layer with a cache that holds the earlier tokens before each turn; a prompt begins with none. */
function layerWith(parts: object) {
  const sizes = { embedDim: E, numHeads: heads, numKeyValueHeads: keyValueHeads, seed: 1 };
  const layer = new GroupedQueryAttention(sizes, { position: rotary({ headDim: D }), ...parts });
  const cache = new StaticCache(layer.cacheShape(1), { capacity });
  const before = () => {
    if (tokens === 1) cache.crop([earlier]);
  };
  if (tokens === 1) {
    const query = normal<tf.Rank.R3>([1, earlier, E], 3);
    tf.dispose([query, layer.apply({ query }, { mask: causal(), cache }).output]);
  }
  const query = normal<tf.Rank.R3>([1, tokens, E], 5);
  const run = () => {
    if (tokens > 1) cache.reset();
    // A mask of its own for each call, as decoding has.
    return layer.apply({ query }, { mask: causal(), cache }).output;
  };
  return { layer, cache, before, job: tensorJob(run, before) };
}

async function makeJobs(): Promise<Record<string, Job>> {
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
  return {
    [layerOps.layer]: layerWith({ kernel }).job,
    [layerOps.dense]: layerWith({ kernel, products: denseProducts() }).job,
    [layerOps.products]: tensorJob(products),
    [layerOps.parts]: tensorJob(() => {
      attention().dispose();
      return products();
    }),
  };
}

/** Tokens by other libraries, of the layer's weights and of what its cache holds. */
async function addPeers({
  layer,
  cache,
  before,
}: ReturnType<typeof layerWith>): Promise<LayerGreeting['peers']> {
  before();
  const numbers = (tensor: tf.Tensor) => tensor.dataSync<'float32'>().slice();
  const weightOf = (name: string) => numbers(layer.getWeights()[`${name}/kernel`]!);
  const inputs = tf.tidy(() => {
    const rows = cache.read().materialize();
    const [query, key, value, output] = ['query', 'key', 'value', 'output'].map(weightOf);
    return {
      weights: { query: query!, key: key!, value: value!, output: output! },
      earlier: { key: numbers(rows.key), value: numbers(rows.value) },
      x: numbers(normal([1, 1, E], 5)),
      capacity,
    };
  });
  const sizes = { width: E, heads, keyValueHeads, headDim: D };
  const entries: LayerGreeting['peers'][number][] = [];
  for (const peer of onnxPeers) {
    try {
      const { version, reset, step } = await openOnnxLayer(peer, sizes, inputs);
      jobs[peer] = {
        async turn() {
          reset();
          const { turn } = await timed(async () => {
            for (let n = 0; n < calls; n++) await step();
          });
          return turn;
        },
        async numbers() {
          reset();
          return (await step()).slice();
        },
      };
      entries.push({ peer, op: onnxOp, ...(version !== undefined && { version }) });
    } catch (error) {
      entries.push({ peer, reason: firstLine(error) });
    }
  }
  return entries;
}

allowRelaxedSimd();
setWasmPaths(wasmPath);
await tf.setBackend('wasm');
const jobs = await makeJobs();
/** What layers should give. */
const reference = layerWith({ kernel: composed() });
const peers = tokens === 1 ? await addPeers(reference) : [];
const expected = await reference.job.numbers!();

/** A token is compiled JavaScript only after some thousand calls. */
const warmUpTurns = tokens === 1 ? 150 : 1;
for (let n = 0; n < warmUpTurns; n++) for (const job of Object.values(jobs)) await job.turn();

const answer = (message: object) => process.stdout.write(`${JSON.stringify(message)}\n`);

answer({ version: tf.version_core, peers } satisfies LayerGreeting);
for await (const line of createInterface({ input: process.stdin })) {
  const { turn, error } = JSON.parse(line) as { readonly turn?: string; readonly error?: string };
  const job = jobs[turn ?? error!]!;
  answer(error ? { error: relativeError(await job.numbers!(), expected) } : await job.turn());
}
