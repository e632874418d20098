// The published layers looked into: what each head does, and what is left of their output with fewer key/value heads.
import type { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { WrongResultError } from '../command-line/errors';
import { quantile } from '../measure/quantile';
import type { PublishedModel } from '../published/model';
import { type HeadObservation, type HeadRole, observeHeads, summarizeHeads } from './head-roles';
import { cosineSimilarities, type PooledVariant, poolLayer } from './pooled-variants';

export interface VariantSimilarity extends Omit<PooledVariant, 'attention'> {
  /** Cosine similarity of the output to that of the published layer, over all tokens. */
  readonly similarity: { readonly mean: number; readonly p10: number };
}

export interface LayerStudy {
  readonly variants: readonly VariantSimilarity[];
  readonly heads: readonly HeadRole[];
}

export interface ModelStudy {
  readonly sentences: number;
  readonly tokens: number;
  readonly layers: readonly LayerStudy[];
}

const keyValueHeads = [4, 2, 1];
/** With all its heads a pooled layer is the layer itself. */
const leastSimilarityToItself = 1 - 1e-6;

/**
 * @param sentences of more than 12 tokens
 * @throws WrongResultError where the layer with all its key/value heads is another
 */
export async function studyModel(
  model: PublishedModel,
  sentences: readonly string[],
  onSentence: (done: number, total: number) => void = () => {},
): Promise<ModelStudy> {
  const studies = model.layers.map((layer) => ({ layer, variants: poolLayer(layer, keyValueHeads) }));
  const similarities = studies.map(({ variants }) => variants.map((): number[] => []));
  const observations = studies.map((): HeadObservation[][] => []);
  let tokens = 0;
  try {
    for (const [n, sentence] of sentences.entries()) {
      const ids = model.tokenize(sentence).tokens.map(({ id }) => id);
      tokens += ids.length;
      const records = await model.record([ids]);
      for (const [l, { layer, variants }] of studies.entries()) {
        const { input } = records[l]!;
        observations[l]!.push(await observeHeads(layer, input));
        for (const [v, ofVariant] of similaritiesOf(layer, variants, input).entries()) {
          similarities[l]![v]!.push(...ofVariant);
        }
      }
      for (const record of records) tf.dispose(record);
      onSentence(n + 1, sentences.length);
    }
  } finally {
    for (const { attention } of studies.flatMap(({ variants }) => variants)) attention.dispose();
  }
  const layers = studies.map(({ variants }, l) => ({
    variants: variants.map((variant, v) => summarizeVariant(variant, similarities[l]![v]!)),
    heads: summarizeHeads(observations[l]!),
  }));
  checkSame(layers);
  return { sentences: sentences.length, tokens, layers };
}

function similaritiesOf(layer: MultiHeadAttention, variants: readonly PooledVariant[], input: tf.Tensor3D) {
  return tf.tidy(() => {
    const { output } = layer.apply({ query: input });
    return variants.map(({ attention }) =>
      cosineSimilarities(output, attention.apply({ query: input }).output),
    );
  });
}

function summarizeVariant({ attention: _, ...variant }: PooledVariant, similarities: readonly number[]) {
  const mean = similarities.reduce((sum, one) => sum + one, 0) / similarities.length;
  return { ...variant, similarity: { mean, p10: quantile(similarities, 0.1) } };
}

function checkSame(layers: readonly LayerStudy[]): void {
  for (const [l, { variants }] of layers.entries()) {
    const { mean } = variants[0]!.similarity;
    if (mean >= leastSimilarityToItself) continue;
    throw new WrongResultError(
      `layer ${l + 1}: GroupedQueryAttention with all key/value heads is ${mean} like MultiHeadAttention, not 1`,
    );
  }
}
