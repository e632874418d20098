// What a layer costs on the current backend. Runs in Node and in a page alike, and waits for every number it reads: a
// graphics card answers later.
import '@tensorflow/tfjs'; // its gradients
import { type AttentionKernel, causal, composed, firstSupported } from '@polyhead/core';
import { flash } from '@polyhead/flash';
import { StaticCache } from '@polyhead/kv-cache';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { evenlySpread } from '../measure/evenly-spread';
import { quantile } from '../measure/quantile';
import { allowedError, relativeError } from '../measure/relative-error';
import { sampleLayer } from '../oracle/sampled-layer';

/** Of a causal layer 512 wide with 8 heads. Times in milliseconds; medians, but for the first. */
export interface Costs {
  /** The one that `firstSupported([flash(), composed])` takes. */
  readonly kernel: string;
  /** The first prefill, which compiles what the backend has to. */
  readonly first: number;
  readonly prefill: number;
  /** One token behind those of a prefill. */
  readonly decode: number;
  /** Forward, and the gradients of all weights. */
  readonly training: number;
  /** Largest difference to the layer in doubles, as a share of its largest output. */
  readonly error: number;
}

export interface CostOptions {
  readonly tokens: number;
  /** Most for each time, of which three are made however long they take. */
  readonly runs: number;
}

/** A time gets no more runs after this many milliseconds. */
const patience = 1_500;
const embedDim = 512;
const mask = causal();

/** @throws Error where the numbers are wrong: those are not timed */
export async function measureCosts(options: CostOptions): Promise<Costs> {
  const kernel = firstSupported([flash(), composed()]);
  await kernel.prepare?.();
  const { layer, input, expected } = await createLayer(kernel, options);
  const cache = new StaticCache(layer.cacheShape(1), { capacity: options.tokens + options.runs + 1 });
  try {
    const start = performance.now();
    const { output, kernel: ran } = layer.apply({ query: input }, { mask });
    const numbers = await numbersOf([output]);
    const first = performance.now() - start;
    const error = expected(numbers[0]!);
    if (!(error <= allowedError)) throw new Error(`the output is off by ${error} of its largest number`);
    const prefill = await medianOf(options, () => [layer.apply({ query: input }, { mask }).output]);
    await numbersOf([layer.apply({ query: input }, { mask, cache }).output]);
    const token = tf.tidy(() => tf.slice(input, [0, 0, 0], [1, 1, embedDim]));
    const step = () => [layer.apply({ query: token }, { mask, cache }).output];
    await numbersOf(step());
    const decode = await medianOf(options, step);
    token.dispose();
    const loss = () => tf.sum(tf.square(layer.apply({ query: input }, { mask }).output)) as tf.Scalar;
    const training = await medianOf(options, () => {
      const { value, grads } = tf.variableGrads(loss);
      return [value, ...Object.values(grads)];
    });
    return { kernel: ran, first, prefill, decode, training, error };
  } finally {
    layer.dispose();
    input.dispose();
    cache.dispose();
    kernel.dispose?.();
  }
}

/** Made on the cpu, whose numbers can be read at once; the backend fetches them at the first call. */
async function createLayer(kernel: AttentionKernel, { tokens }: CostOptions) {
  const here = tf.getBackend();
  await tf.setBackend('cpu');
  const layer = new MultiHeadAttention({ embedDim, numHeads: 8, seed: 1 }, { kernel });
  const input = tf.randomNormal<tf.Rank.R3>([1, tokens, embedDim], 0, 1, 'float32', 2);
  const rows = evenlySpread(8, tokens);
  const sampled = sampleLayer(layer);
  const wanted = sampled.output(sampled.headOutputs({ input: input.dataSync(), rows, causal: true }));
  await tf.setBackend(here);
  const expected = (output: ArrayLike<number>) =>
    relativeError(
      rows.flatMap((row) => Array.from({ length: embedDim }, (_, n) => output[row * embedDim + n]!)),
      wanted,
    );
  return { layer, input, expected };
}

async function medianOf({ runs }: CostOptions, run: () => tf.Tensor[]): Promise<number> {
  const times: number[] = [];
  const begin = performance.now();
  while (times.length < runs && (times.length < 3 || performance.now() - begin < patience)) {
    const start = performance.now();
    await numbersOf(run());
    times.push(performance.now() - start);
  }
  return quantile(times, 0.5);
}

async function numbersOf(tensors: readonly tf.Tensor[]): Promise<ArrayLike<number>[]> {
  const numbers = await Promise.all(tensors.map((tensor) => tensor.data()));
  tf.dispose([...tensors]);
  return numbers;
}
