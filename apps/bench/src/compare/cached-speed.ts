// How long prefill and a step of decoding take with a cache, each variant compared with the first.
import { type Attention, type AttentionKernel, causal, type KeyValueCache } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { type Spread, spreadOf } from '../measure/quantile';
import { takeTurns } from '../measure/take-turns';
import { timeOutput } from '../measure/time-output';
import { checkLayer } from '../oracle/layer-check';
import type { SampledLayer } from '../oracle/sampled-layer';
import {
  type BytesOfCache,
  type CachedRows,
  type ComparedCache,
  cachedRows,
  checkBytes,
  releaseCache,
} from './caches';
import type { ComparisonShape } from './shapes';
import type { ComparedVariant } from './variants';

/** A layer that is compared. */
export interface ComparedLayer {
  readonly shape: Pick<ComparisonShape, 'name' | 'config'>;
  readonly variant: Pick<ComparedVariant, 'name'>;
  readonly attention: Attention;
  readonly kernel: AttentionKernel;
  /** Those it is measured with. Default: all of the run. */
  readonly caches?: readonly ComparedCache[];
  readonly sampled: SampledLayer;
}

export interface CachedRun {
  /** Tokens that a call adds, to each batch entry: a prompt at once, or one behind those that are there. */
  readonly phase: 'prefill' | 'decode';
  readonly caches: readonly ComparedCache[];
  readonly batch: number;
  /** In the cache after the last call, in each batch entry. */
  readonly tokens: number;
  readonly samples: number;
}

/** Times in milliseconds. */
export interface CachedTiming extends Spread {
  readonly phase: CachedRun['phase'];
  readonly shape: string;
  readonly variant: string;
  /** The name of the one that ran. */
  readonly kernel: string;
  readonly keyValueHeads: number;
  readonly cache: string;
  readonly batch: number;
  readonly tokens: number;
  /** Of the cache with all its tokens. The three agree. */
  readonly bytes: BytesOfCache;
  /** How the cache adds a token on the current backend, in words. */
  readonly writes: string;
  /** Of all batch entries together. */
  readonly tokensPerSecond: number;
  /** How many times as fast as the first layer with the same cache in the same run. */
  readonly speedUp: number;
  /** Largest difference to the layer in doubles, as a share of its largest number. */
  readonly error: number;
}

const mask = causal();
/** Calls before those that are timed: one that is checked, and one as the others. */
const untimed = 2;

interface Runner {
  readonly layer: ComparedLayer;
  readonly cache: ComparedCache;
  readonly storage: KeyValueCache;
  readonly cached?: CachedRows;
  readonly what: string;
}

/**
 * @param layers of one shape; their weights stay. The first is what the others are compared with
 * @throws WrongResultError where numbers or bytes are wrong: those are not timed
 */
export async function timeCached(
  layers: readonly ComparedLayer[],
  run: CachedRun,
  onRun: (done: number, total: number) => void = () => {},
): Promise<CachedTiming[]> {
  const { batch, phase, tokens, samples } = run;
  const newTokens = phase === 'prefill' ? tokens : 1;
  const E = layers[0]!.shape.config.embedDim;
  const query = tf.randomNormal<tf.Rank.R3>([batch, newTokens, E], 0, 1, 'float32', tokens);
  const runners = layers.flatMap((layer) => createRunners(layer, run));
  try {
    const checks = runners.map((runner) => checkRunner(runner, query));
    const jobs = runners.map(({ layer, storage }) => async () => {
      if (phase === 'prefill') storage.reset();
      return timeOutput(
        () => layer.attention.apply({ query }, { mask, cache: storage, kernel: layer.kernel }).output,
      );
    });
    const times = await takeTurns(jobs, 1 + samples, onRun);
    const timed = runners.map((runner, n) => ({
      ...summarize(runner, run, times[n]!.slice(1)),
      ...checks[n]!,
    }));
    return timed.map((timing) => ({ ...timing, speedUp: baselineOf(timing, timed).median / timing.median }));
  } finally {
    query.dispose();
    for (const { storage } of runners) storage.dispose();
  }
}

/** A cache of each kind, with what stands in it before the first call. */
function createRunners(layer: ComparedLayer, { phase, caches, batch, tokens, samples }: CachedRun): Runner[] {
  const shape = layer.attention.cacheShape(batch);
  const cached = phase === 'decode' ? cachedRows(shape, tokens - untimed - samples) : undefined;
  return (layer.caches ?? caches).map((cache) => {
    const what = `${phase} of ${layer.shape.name}, ${layer.variant.name}, ${cache.name} cache, batch ${batch}, ${tokens} tokens`;
    const storage = cache.create(shape, tokens);
    cached?.appendTo(storage);
    return { layer, cache, storage, what, ...(cached && { cached }) };
  });
}

/** The first call. */
function checkRunner({ layer, storage, what, cached }: Runner, query: tf.Tensor3D) {
  const { attention, kernel, sampled } = layer;
  let ran = '';
  let error = 0;
  tf.tidy(() => {
    const result = attention.apply({ query }, { mask, cache: storage, kernel, returns: ['headOutputs'] });
    error = checkLayer(sampled, { what, query, ...(cached && { cached }) }, result);
    ran = result.kernel;
  });
  return { kernel: ran, error };
}

function summarize({ layer, cache, storage, what }: Runner, run: CachedRun, times: readonly number[]) {
  const { phase, batch, tokens } = run;
  const writes = cache.writes(storage);
  const bytes = releaseCache(cache, storage, tokens);
  checkBytes(what, bytes);
  const spread = spreadOf(times);
  return {
    phase,
    shape: layer.shape.name,
    variant: layer.variant.name,
    keyValueHeads: storage.shape.heads,
    cache: cache.name,
    batch,
    tokens,
    bytes,
    writes,
    ...spread,
    tokensPerSecond: (1000 * batch * (phase === 'prefill' ? tokens : 1)) / spread.median,
  };
}

type Measured = Omit<CachedTiming, 'speedUp'>;

function baselineOf({ cache }: Measured, timed: readonly Measured[]): Measured {
  return timed.find((timing) => timing.cache === cache)!;
}
