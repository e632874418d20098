// Relative bias of T5 (Raffel et al. 2019, 1910.10683, section 2.1): distances fall into buckets, and each bucket has a
// number for each head, added to scores. Near distances have a bucket each; farther ones share buckets that widen as
// powers, up to a last one for all beyond a maximum.
import { ConfigError } from '@polyhead/core';
import { checkNumber, checkSizes, normalizeOptions, withKind } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { checkCounts, checkFlags, checkSeed } from './check-options';
import { type PositionParts, type TrainedPosition, trainedPosition } from './position-method';

/** A learned bias for each bucket of distances. */
export interface T5Config {
  /** Hq, the number of query heads. */
  readonly numHeads: number;
  /** Default: 32. */
  readonly numBuckets?: number | undefined;
  /** From this distance on all share the last bucket. Default: 128. */
  readonly maxDistance?: number | undefined;
  /** Half of the buckets for keys ahead; false: those share the bucket of distance 0. Default: true. */
  readonly bidirectional?: boolean | undefined;
  /** A bias in cross-attention too, where T5 has none. Default: false. */
  readonly crossAttention?: boolean | undefined;
  /** Same config, same start. */
  readonly seed?: number | undefined;
}

const where = 't5';
const optionNames = [
  'numHeads',
  'numBuckets',
  'maxDistance',
  'bidirectional',
  'crossAttention',
  'seed',
] as const;

/**
 * The bucket of a distance, key position - query position.
 *
 * @throws ConfigError for what is no whole number, or no config
 */
export function t5Bucket(distance: number, config?: Omit<T5Config, 'numHeads'> | null): number {
  checkNumber('t5Bucket', 'distance', distance, [Number.isInteger, 'a whole number']);
  return bucketOf(
    distance,
    normalizeOptions<T5Config>('t5Bucket', 'config', (config ?? {}) as T5Config, optionNames),
  );
}

function bucketOf(distance: number, config: Partial<T5Config>): number {
  const { numBuckets = 32, maxDistance = 128, bidirectional = true } = config;
  const buckets = bidirectional ? Math.floor(numBuckets / 2) : numBuckets;
  const first = bidirectional && distance > 0 ? buckets : 0;
  const n = bidirectional ? Math.abs(distance) : Math.max(-distance, 0);
  const exact = Math.floor(buckets / 2);
  if (n < exact) return first + n;
  if (exact === 0) return first;
  const steps = (Math.log(n / exact) / Math.log(maxDistance / exact)) * (buckets - exact);
  // Whole steps come out a little too small now and then: log 3 / log 9 is not quite a half.
  return first + Math.min(buckets - 1, exact + Math.floor(steps + 1e-9));
}

/**
 * Adds to scores a learned number for the bucket of each distance: the variable `table`, [numBuckets, Hq], which is T5's
 * `relative_attention_bias`. T5 shares it: pass one object to all layers of an encoder, another to those of a decoder. A
 * layer with it has the scale 1, unless its config gives another. The layers of T5 that attend to an encoder have no
 * position method, and are given `scale: 1` themselves.
 *
 * @throws ConfigError for options that cannot be
 */
export const t5 = /* @__PURE__ */ withKind(
  where,
  ['config', 'parts'],
  (options: T5Config, parts: PositionParts = {}): TrainedPosition => {
    const config = checkT5(options);
    const { numHeads, numBuckets = 32, maxDistance = 128, crossAttention = false } = config;
    const buckets = Int32Array.from({ length: 2 * maxDistance + 1 }, (_, r) =>
      bucketOf(r - maxDistance, config),
    );
    const index = { from: -maxDistance, rows: buckets };
    const shapes = { table: [numBuckets, numHeads] };
    return trainedPosition(where, { config, needs: { numHeads }, shapes, parts }, (variables) => ({
      scale: 1, // products of T5 are not scaled
      selfOnly: !crossAttention,
      tables: () => ({ bias: { table: tf.transpose(variables.get('table')) as tf.Tensor2D, index } }),
    }));
  },
);

function checkT5(options: T5Config): T5Config {
  const config = normalizeOptions(where, 'config', options, optionNames) as T5Config;
  const { numHeads, numBuckets = 32, maxDistance = 128, bidirectional = true, crossAttention, seed } = config;
  checkSizes(where, { numHeads, numBuckets });
  checkCounts(where, { maxDistance });
  checkFlags(where, { bidirectional, crossAttention });
  checkSeed(where, seed);
  const exact = Math.floor(numBuckets / (bidirectional ? 4 : 2));
  if (bidirectional && numBuckets < 2) {
    throw new ConfigError(where, 'both directions need a bucket: numBuckets must be at least 2', {
      numBuckets,
    });
  }
  if (maxDistance > exact) return config;
  throw new ConfigError(where, 'maxDistance must be above the distances that have a bucket each', {
    maxDistance,
    'buckets of one distance': exact,
  });
}
