// What each head of a layer does in one sentence, and over many.
import { ablateHeads, type HeadPattern, headStatistics, readHeads } from '@polyhead/inspect';
import type { MultiHeadAttention } from '@polyhead/multi-head';
import type * as tf from '@tensorflow/tfjs-core';

/** Of one head in one sentence. */
export interface HeadObservation {
  readonly pattern: HeadPattern;
  readonly entropy: number; // nats
  readonly distance: number; // tokens
  /** Relative change of the layer's output without the head. */
  readonly ablation: number;
}

/** Of one head: the pattern found most often, and means over the sentences. */
export interface HeadRole extends HeadObservation {
  /** Share of the sentences with that pattern. */
  readonly patternShare: number;
}

/** @param input [1, S, E], of more than 12 tokens: shorter maps can look like a pattern by chance */
export async function observeHeads(
  layer: MultiHeadAttention,
  input: tf.Tensor3D,
): Promise<HeadObservation[]> {
  const { output, weights } = layer.apply({ query: input }, { returns: ['weights'] });
  const heads = await readHeads(weights!);
  output.dispose();
  weights!.dispose();
  const ablations = await ablateHeads(layer, { query: input });
  return headStatistics(heads).map(({ pattern, entropy, distance }, h) => ({
    pattern,
    entropy,
    distance,
    ablation: ablations[h]!,
  }));
}

/** @param sentences observations of all heads, sentence by sentence */
export function summarizeHeads(sentences: readonly (readonly HeadObservation[])[]): HeadRole[] {
  return (sentences[0] ?? []).map((_, h) => {
    const observations = sentences.map((heads) => heads[h]!);
    const mean = (of: (observation: HeadObservation) => number) =>
      observations.reduce((sum, observation) => sum + of(observation), 0) / observations.length;
    const counts = new Map<HeadPattern, number>();
    for (const { pattern } of observations) counts.set(pattern, (counts.get(pattern) ?? 0) + 1);
    const [pattern, count] = [...counts].reduce((most, entry) => (entry[1] > most[1] ? entry : most));
    return {
      pattern,
      patternShare: count / observations.length,
      entropy: mean(({ entropy }) => entropy),
      distance: mean(({ distance }) => distance),
      ablation: mean(({ ablation }) => ablation),
    };
  });
}
