// Absolute positions as sinusoids, added to embeddings (Vaswani et al. 2017, 1706.03762, section 3.5).
import { ConfigError } from '@polyhead/core';
import { checkNumber, checkSizes, normalizeOptions } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import { type AbsolutePosition, tokensOf } from './absolute-position';
import { checkFlags } from './check-options';
import { sinusoids } from './sinusoids';

export interface SinusoidalConfig {
  /** E, the width of the embeddings: even. */
  readonly embedDim: number;
  /** Default: 10000. */
  readonly base?: number;
  /** Sines at even places and cosines at odd ones; false: all sines, then all cosines. Default: true. */
  readonly interleaved?: boolean;
}

const where = 'sinusoidal';

/**
 * For positions without a bound.
 *
 * @throws ConfigError for options that cannot be
 */
export function sinusoidal(options: SinusoidalConfig): AbsolutePosition {
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
    config: Object.freeze({ ...config }),
    variables: [],
    addTo(embeddings, at) {
      const { places, entries, S } = tokensOf(where, embeddings, { at, embedDim });
      return tf.tidy(() => {
        const vectors = tf.tensor3d(sinusoids(places, embedDim, { base, interleaved }), [
          entries,
          S,
          embedDim,
        ]);
        return tf.add<tf.Tensor3D>(embeddings, vectors);
      });
    },
    dispose() {},
  };
}
