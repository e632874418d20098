// An encoder: each token of a source sees all others.
import { ShapeError, validLengths } from '@polyhead/core';
import { checkTensor, cleanTidy, normalizeOptions } from '@polyhead/core/layer';
import type * as tf from '@tensorflow/tfjs-core';
import { BlockStack, type StackConfig, type StackParts, stackOptions } from './block-stack';
import type { EncoderCall, EncoderResult } from './causal-model';

const kind = 'Encoder';

/**
 * Tokens in, a vector for each out.
 *
 * @example
 * const encoder = new Encoder(config, {
 *   attention: (parts) => new MultiHeadAttention({ embedDim: 64, numHeads: 4 }, parts),
 *   positions: sinusoidal({ embedDim: 64 }),
 * });
 * const { output } = encoder.apply(ids, { lengths: [9, 6] });
 */
export class Encoder extends BlockStack<StackConfig> {
  /** Its name in JSON. */
  static readonly kind = kind;

  /** @throws ConfigError for options that cannot be */
  constructor(config: StackConfig, parts: StackParts) {
    super(kind, normalizeOptions(kind, 'config', config, stackOptions) as StackConfig, parts);
  }

  /**
   * Allocates exactly its result.
   *
   * @param ids [B, S], int32
   * @returns output [B, S, E]
   * @throws ShapeError for tokens outside the vocabulary, or more of them than the model has positions
   */
  apply(ids: tf.Tensor, call: EncoderCall = {}): EncoderResult {
    const known = ['lengths', 'segments', 'kernel', 'training'] as const;
    const { lengths, segments, kernel, training } = normalizeOptions<EncoderCall>(kind, 'call', call, known);
    checkTensor(kind, 'ids', ids, ['[B, S]', {}, 'int32']);
    const { maxLength } = this.config;
    if (maxLength !== undefined && ids.shape[1]! > maxLength)
      throw new ShapeError(kind, 'the source must not be longer than the model', { ids, maxLength });
    const mask = lengths && validLengths(lengths);
    const kernels: string[] = [];
    const output = cleanTidy(() => {
      const embedded = this.embedded(ids, { segments, training });
      const through = this.throughBlocks(embedded, () => ({ mask, kernel, training }));
      kernels.push(...through.kernels);
      return this.finished(through.hidden);
    });
    return { output, kernels };
  }
}
