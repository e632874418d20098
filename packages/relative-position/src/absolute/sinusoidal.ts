// Absolute positions as sinusoids, added to embeddings (Vaswani et al. 2017, 1706.03762, section 3.5).
import { ConfigError } from '@polyhead/core';
import { checkNumber, checkSizes, normalizeOptions, withKind } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { checkFlags } from '../check-options';
import { frozenCopy } from '../position-method';
import { type AbsolutePosition, tokensOf } from './absolute-position';

/** Sines and cosines of positions. */
export interface SinusoidalConfig {
  /** E, the width of the embeddings: even. */
  readonly embedDim: number;
  /** Default: 10000. */
  readonly base?: number | undefined;
  /** Sines at even columns and cosines at odd ones; false: all sines, then all cosines. Default: true. */
  readonly interleaved?: boolean | undefined;
}

const where = 'sinusoidal';

/**
 * For positions without a bound.
 *
 * @throws ConfigError for options that cannot be
 */
export const sinusoidal = /* @__PURE__ */ withKind(
  where,
  ['config'],
  (options: SinusoidalConfig): AbsolutePosition => {
    const config = normalizeOptions(where, 'config', options, [
      'embedDim',
      'base',
      'interleaved',
    ]) as SinusoidalConfig;
    const { embedDim, base = 10_000, interleaved = true } = config;
    checkSizes(where, { embedDim });
    checkNumber(where, 'base', base, [(x) => x > 1, 'a number above 1']);
    checkFlags(where, { interleaved });
    if (embedDim % 2 !== 0) throw new ConfigError(where, 'embedDim must be even', { embedDim });
    return {
      config: frozenCopy(config),
      variables: [],
      addTo(embeddings, at) {
        const { positions, entries, S } = tokensOf(where, embeddings, { at, embedDim });
        return tf.tidy(() => {
          const numbers = sinusoids(positions, embedDim, { base, interleaved });
          const vectors = tf.tensor3d(numbers, [entries, S, embedDim]);
          return tf.add<tf.Tensor3D>(embeddings, vectors);
        });
      },
      dispose() {},
      toJSON: () => ({ kind: where, config }),
    };
  },
);

/**
 * sin(p / base^(2i / width)) and cos of the same, for i = 0 … width / 2 - 1, in doubles.
 *
 * @param width even
 * @param options interleaved: sines at even columns and cosines at odd ones; else all sines, then all cosines
 * @returns [positions, width], rounded to float32
 */
export function sinusoids(
  positions: ArrayLike<number>,
  width: number,
  { base = 10_000, interleaved }: { readonly base?: number; readonly interleaved: boolean },
): Float32Array {
  const result = new Float32Array(positions.length * width);
  const [step, cosine] = interleaved ? [2, 1] : [1, width / 2];
  for (let i = 0; i < width / 2; i++) {
    const frequency = base ** ((-2 * i) / width);
    for (let n = 0; n < positions.length; n++) {
      const at = n * width + i * step;
      result[at] = Math.sin(positions[n]! * frequency);
      result[at + cosine] = Math.cos(positions[n]! * frequency);
    }
  }
  return result;
}
