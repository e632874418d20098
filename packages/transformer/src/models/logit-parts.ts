// What each part of a decoder adds to the logits of the next token. With norms in front of its layers a token is a sum of what
// they add to it, and its logits, but for the size that the last norm divides by, are linear in the token:
//
//   x       = embedding + Σ heads + Σ biases + Σ feed-forward layers
//   logits  = W (gain · x / |x|) + …  =  Σ W (gain · part / |x|) + …
import { type Attention, UnsupportedError } from '@polyhead/core';
import { outputRows } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import type { BlockOptions, LayerOutput, TransformerBlock } from '../blocks/transformer-block';
import { LayerNorm, type RmsNorm } from '../layers/norm';

/** A part of a decoder that adds to the logits. Layers and heads are counted from 0. */
export type LogitPart =
  | { readonly kind: 'embedding' }
  | { readonly kind: 'head'; readonly layer: number; readonly head: number }
  /** Of the output projection of attention. */
  | { readonly kind: 'bias'; readonly layer: number }
  | { readonly kind: 'feedForward'; readonly layer: number }
  /** The offset of the last norm and the bias of the head: what every token gets. */
  | { readonly kind: 'constant' };

/** The logits of the next token as a sum. */
export interface LogitParts {
  /** In the order in which the model computes them. */
  readonly parts: readonly LogitPart[];
  /** [P, B, V], a row for each part; their sum is [B, V], the logits before `logitSoftcap`. The caller disposes it. */
  readonly logits: tf.Tensor3D;
}

/** What a decoder does with what comes out of its last block. */
interface LastSteps {
  readonly norm: LayerNorm | RmsNorm | undefined;
  /** Products with the head: [n, B, E] to [n, B, V]. */
  readonly products: (x: tf.Tensor3D) => tf.Tensor3D;
  /** [V] */
  readonly bias: tf.Tensor | undefined;
}

/** @throws UnsupportedError where tokens are no sum of what heads and layers add */
export function checkSum(
  where: string,
  { config, blocks }: { readonly config: BlockOptions; readonly blocks: readonly TransformerBlock[] },
): void {
  const { normPlacement = 'pre' } = config;
  const reasons = [
    ...(normPlacement === 'pre' ? [] : [`norms ${normPlacement} stand behind what layers add`]),
    ...(blocks.some((block) => block.crossAttention) ? ['it has cross-attention'] : []),
  ];
  if (reasons.length > 0)
    throw new UnsupportedError(where, 'tokens must be sums of what heads and layers add', reasons);
}

/** Collects what is added to the last token of each entry. Its tensors live until `dispose`. */
export class LastTokenParts {
  readonly parts: LogitPart[] = [];
  private readonly added: tf.Tensor3D[] = []; // [n, B, E]

  constructor(private readonly where: string) {}

  /** @param embedded [B, S, E] */
  addEmbedding(embedded: tf.Tensor3D): void {
    this.keep([{ kind: 'embedding' }], lastOf(embedded));
  }

  addOutput(layer: number, { output, attention, headOutputs }: LayerOutput): void {
    if (attention) this.addHeads(layer, attention, headOutputs);
    else this.keep([{ kind: 'feedForward', layer }], lastOf(output));
  }

  /**
   * @param x the token that the parts sum to, [B, 1, E]
   * @returns [P, B, V]
   */
  logits(x: tf.Tensor3D, { norm, products, bias }: LastSteps): tf.Tensor3D {
    const [B, , E] = x.shape;
    const sum = tf.concat(this.added, 0) as tf.Tensor3D; // [P, B, E]
    const parts = products((norm?.frozen(sum, tf.reshape(x, [1, B, E])) ?? sum) as tf.Tensor3D);
    const offset = norm instanceof LayerNorm ? norm.offset : undefined;
    const constant = [
      ...(offset ? [products(tf.reshape(offset, [1, 1, E]))] : []),
      ...(bias ? [tf.reshape(bias, [1, 1, -1])] : []),
    ];
    if (constant.length === 0) return parts;
    this.parts.push({ kind: 'constant' });
    return tf.concat([parts, tf.tile(tf.addN(constant), [1, B, 1])], 0) as tf.Tensor3D;
  }

  dispose(): void {
    tf.dispose(this.added);
  }

  private addHeads(layer: number, attention: Attention, headOutputs: tf.Tensor4D | undefined): void {
    const { rows, bias } = tf.tidy(() => outputRows(this.where, attention, headOutputs));
    tf.tidy(() => {
      const [B, H, S, Dv] = headOutputs!.shape;
      const last = tf.reshape(tf.slice(headOutputs!, [0, 0, S - 1, 0], [B, H, 1, Dv]), [B, H, Dv]);
      const heads = tf.matMul(tf.transpose(last, [1, 0, 2]), rows); // [H, B, E]
      this.keep(
        Array.from({ length: H }, (_, head) => ({ kind: 'head', layer, head })),
        heads as tf.Tensor3D,
      );
      if (bias) this.keep([{ kind: 'bias', layer }], tf.tile(tf.reshape(bias, [1, 1, -1]), [1, B, 1]));
    });
  }

  private keep(parts: readonly LogitPart[], added: tf.Tensor3D): void {
    this.parts.push(...parts);
    this.added.push(tf.keep(added));
  }
}

/** [B, S, E], its last token: [1, B, E]. */
function lastOf(x: tf.Tensor3D): tf.Tensor3D {
  const [B, S, E] = x.shape;
  return tf.tidy(() => tf.reshape(tf.slice(x, [0, S - 1, 0], [B, 1, E]), [1, B, E]));
}
