// Normalization of each token's numbers.
import {
  checkFlag,
  checkNumber,
  checkOneOf,
  checkSizes,
  normalize,
  normalizeOptions,
} from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { Layer, type LayerParts } from './layer';

/** Describes a `LayerNorm`. Plain JSON. */
export interface LayerNormConfig {
  /** E, how many numbers are normalized together. */
  readonly size: number;
  /** ε. Default: 1e-5. */
  readonly epsilon?: number | undefined;
  /** Whether an offset is added. Default: true. */
  readonly useBias?: boolean | undefined;
}

/** Describes an `RmsNorm`. Plain JSON. */
export interface RmsNormConfig {
  /** E, how many numbers are normalized together. */
  readonly size: number;
  /** ε. Default: 1e-6. */
  readonly epsilon?: number | undefined;
}

const ones = (shape: readonly number[]) => tf.ones([...shape]);
const notNegative = [(x: number) => x >= 0, 'a number of at least 0'] as const;

/**
 * (x - mean) / sqrt(variance + ε) · gain + offset (Ba et al. 2016, 1607.06450): the variables `gain` and `offset`, [E].
 */
export class LayerNorm extends Layer<LayerNormConfig> {
  /** Its name in JSON. */
  static readonly kind = 'LayerNorm';

  /** @throws ConfigError for options that cannot be */
  constructor(config: LayerNormConfig, parts: LayerParts = {}) {
    const { kind } = LayerNorm;
    const known = normalizeOptions(kind, 'config', config, ['size', 'epsilon', 'useBias']) as LayerNormConfig;
    const { size, epsilon = 1e-5, useBias = true } = known;
    checkSizes(kind, { size });
    checkNumber(kind, 'epsilon', epsilon, notNegative);
    checkFlag(kind, 'useBias', useBias);
    const shapes = { gain: [size], ...(useBias && { offset: [size] }) };
    super({ kind, config: known, parts, shapes, starts: { gain: ones }, hasSeed: false });
  }

  /**
   * @param x [..., E]
   * @returns [..., E]
   */
  apply<T extends tf.Tensor>(x: T): T {
    return normalize(x, this.options, {
      gain: this.weights.get('gain'),
      offset: this.weights.find('offset'),
    });
  }

  /** As `RmsNorm.frozen`: also about the mean of each part. The offset, which belongs to no part, is left out. */
  frozen(parts: tf.Tensor, x: tf.Tensor): tf.Tensor {
    return frozen(parts, x, [this.options, this.weights.get('gain')]);
  }

  /** [E], where there is one. */
  get offset(): tf.Tensor | undefined {
    return this.weights.find('offset');
  }

  private get options() {
    return { kind: 'layer', epsilon: this.config.epsilon ?? 1e-5 } as const;
  }
}

/**
 * x / sqrt(mean(x²) + ε) · gain (Zhang and Sennrich 2019, 1910.07467): the variable `gain`, [E]. Gemma's files hold gain - 1:
 * its table of weights adds the 1.
 */
export class RmsNorm extends Layer<RmsNormConfig> {
  /** Its name in JSON. */
  static readonly kind = 'RmsNorm';

  /** @throws ConfigError for options that cannot be */
  constructor(config: RmsNormConfig, parts: LayerParts = {}) {
    const { kind } = RmsNorm;
    const known = normalizeOptions(kind, 'config', config, ['size', 'epsilon']) as RmsNormConfig;
    const { size, epsilon = 1e-6 } = known;
    checkSizes(kind, { size });
    checkNumber(kind, 'epsilon', epsilon, notNegative);
    super({ kind, config: known, parts, shapes: { gain: [size] }, starts: { gain: ones }, hasSeed: false });
  }

  /**
   * @param x [..., E]
   * @returns [..., E]
   */
  apply<T extends tf.Tensor>(x: T): T {
    return normalize(x, this.options, { gain: this.weights.get('gain') });
  }

  /**
   * Parts of x, divided by what x is divided by: those of a sum give the norm of the sum (Elhage et al. 2021, _A Mathematical
   * Framework for Transformer Circuits_).
   *
   * @param parts [..., E]
   * @param x what the norm would get; broadcasts to the parts
   * @returns [..., E]
   */
  frozen(parts: tf.Tensor, x: tf.Tensor): tf.Tensor {
    return frozen(parts, x, [this.options, this.weights.get('gain')]);
  }

  private get options() {
    return { kind: 'rms', epsilon: this.config.epsilon ?? 1e-6 } as const;
  }
}

function frozen(
  parts: tf.Tensor,
  x: tf.Tensor,
  [{ kind, epsilon }, gain]: readonly [
    { readonly kind: 'layer' | 'rms'; readonly epsilon: number },
    tf.Tensor,
  ],
): tf.Tensor {
  return tf.tidy(() => {
    const centered = (y: tf.Tensor) => (kind === 'layer' ? tf.sub(y, tf.mean(y, -1, true)) : y);
    const size = tf.sqrt(tf.add(tf.mean(tf.square(centered(x)), -1, true), epsilon)); // [..., 1]
    return tf.mul(tf.div(centered(parts), size), gain);
  });
}

/** Which normalization the blocks of a model have. Plain JSON. */
export interface NormOptions {
  /** `layer` is `LayerNorm`, `rms` is `RmsNorm`. */
  readonly kind: 'layer' | 'rms';
  /** ε. Default: 1e-5 of `layer`, 1e-6 of `rms`. */
  readonly epsilon?: number | undefined;
  /** Of `layer`: whether an offset is added. Default: true. */
  readonly useBias?: boolean | undefined;
}

/** @throws ConfigError for options that cannot be */
export function makeNorm(
  where: string,
  size: number,
  norm: NormOptions,
  parts: LayerParts,
): LayerNorm | RmsNorm {
  const { kind, ...options } = normalizeOptions(where, 'norm', norm, ['kind', 'epsilon', 'useBias']);
  checkOneOf(where, 'norm.kind', kind ?? 'none', ['layer', 'rms']);
  return kind === 'layer'
    ? new LayerNorm({ size, ...options }, parts)
    : new RmsNorm({ size, ...options }, parts);
}
