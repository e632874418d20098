// What reads a text and shows its attention: a model, whatever its kind.
import type { Attention } from '@polyhead/core';
import type { HeadWeights } from '@polyhead/inspect';
import type { LoadedModel } from '../model/loaded-model';
import type { Piece } from './words';

/** A text as a model's tokens. */
export interface TokenizedText {
  /** On one line. */
  readonly text: string;
  readonly ids: readonly number[];
  /** Each token as text. */
  readonly pieces: readonly Piece[];
  /** Characters of the text that the model cannot read. */
  readonly leftOut: readonly string[];
}

/** A text as one layer's heads see it. */
export interface ReadText extends Omit<TokenizedText, 'ids'> {
  /** [H, S, S] */
  readonly heads: HeadWeights;
}

export interface Reader {
  readonly title: string;
  readonly layers: number;
  readonly headsPerLayer: number;
  /** The layer that is shown where none is chosen, from 1. */
  readonly usualLayer: number;
  /** Of each layer. They are the reader's, as all of the model is. */
  readonly attentions: readonly Attention[];
  /** What predicts the next token; an encoder does not. */
  readonly decoder?: LoadedModel;
  /** @throws UsageError for a text with nothing to see, or with more than the model reads */
  tokenize(text: string): TokenizedText;
  /** The weights of each layer, [H, S, S]. */
  weights(ids: readonly number[]): Promise<readonly HeadWeights[]>;
  dispose(): void;
}

/**
 * @param layer from 1
 * @throws UsageError for a text with nothing to see, or with more than the model reads
 */
export async function readText(reader: Reader, text: string, layer: number): Promise<ReadText> {
  const { ids, ...tokenized } = reader.tokenize(text);
  return { ...tokenized, heads: (await reader.weights(ids))[layer - 1]! };
}
