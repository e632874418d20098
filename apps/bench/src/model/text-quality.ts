// What a change of a model costs it on a text: fewer bits of weights, of keys and values, or fewer of them.
import type { AttentionKernel } from '@polyhead/core';
import type { CausalModel, ModelCache } from '@polyhead/transformer';
import * as tf from '@tensorflow/tfjs-core';
import { quantile } from '../measure/quantile';
import { mobyDickChapters } from '../published/moby-dick';
import type { LoadedModel } from './loaded-model';
import { idsOf } from './proof';

/** The text that models are compared on: Moby Dick from its first sentence on. */
export function textOf(loaded: LoadedModel): number[] {
  const chapter = mobyDickChapters()[0]!;
  return idsOf(loaded, chapter.slice(chapter.indexOf('Call me Ishmael.'), 4000));
}

export interface TextQuality {
  /** KL divergence of the exact distribution from this one, in nats: the mean over all tokens, and its 99 % quantile. */
  readonly meanDivergence: number;
  readonly divergence99: number;
  /** Part of the tokens behind which the same token is the likeliest. */
  readonly agreement: number;
  readonly perplexity: number;
  readonly exactPerplexity: number;
}

/**
 * Logits behind each token: [tokens][V].
 *
 * @param chunk tokens a call; default: all
 */
export async function logitsOf(
  model: CausalModel,
  ids: readonly number[],
  {
    chunk = ids.length,
    ...call
  }: { readonly kernel: AttentionKernel; readonly chunk?: number; readonly cache?: ModelCache },
): Promise<Float32Array[]> {
  const rows: Float32Array[] = [];
  for (let at = 0; at < ids.length; at += chunk) {
    const logits = tf.tidy(
      () => model.apply(tf.tensor2d([ids.slice(at, at + chunk)], undefined, 'int32'), call).logits,
    );
    const [numbers, V] = [await logits.data<'float32'>(), logits.shape[2]];
    for (let row = 0; row * V < numbers.length; row++) rows.push(numbers.slice(row * V, (row + 1) * V));
    logits.dispose();
  }
  return rows;
}

/** @param exact, own logits behind each token of the text: [tokens][V] */
export function qualityOf(
  exact: readonly Float32Array[],
  own: readonly Float32Array[],
  text: readonly number[],
): TextQuality {
  const [divergences, agreed]: [number[], boolean[]] = [[], []];
  let [loss, exactLoss] = [0, 0];
  exact.forEach((logits, n) => {
    const [p, q] = [logits, own[n]!];
    const [sumP, sumQ] = [logSumExp(p), logSumExp(q)];
    // Σ p (log p - log q)
    divergences.push(p.reduce((sum, x, i) => sum + Math.exp(x - sumP) * (x - sumP - (q[i]! - sumQ)), 0));
    agreed.push(likeliest(p) === likeliest(q));
    if (n + 1 === text.length) return;
    exactLoss += sumP - p[text[n + 1]!]!;
    loss += sumQ - q[text[n + 1]!]!;
  });
  const mean = (x: readonly number[]) => x.reduce((sum, y) => sum + y, 0) / x.length;
  return {
    meanDivergence: mean(divergences),
    divergence99: quantile(divergences, 0.99),
    agreement: mean(agreed.map(Number)),
    perplexity: Math.exp(loss / (text.length - 1)),
    exactPerplexity: Math.exp(exactLoss / (text.length - 1)),
  };
}

function logSumExp(x: Float32Array): number {
  const most = x.reduce((a, b) => Math.max(a, b), -Infinity);
  return most + Math.log(x.reduce((sum, y) => sum + Math.exp(y - most), 0));
}

function likeliest(x: Float32Array): number {
  return x.reduce((best, y, i) => (y > x[best]! ? i : best), 0);
}
