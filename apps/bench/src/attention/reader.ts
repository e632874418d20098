// What reads a text and shows its attention: a model, whatever its kind.
import type { HeadWeights } from '@polyhead/inspect';
import type { Piece } from './words';

/** A text as one layer's heads see it. */
export interface ReadText {
  /** On one line. */
  readonly text: string;
  readonly pieces: readonly Piece[];
  /** Characters of the text that the model cannot read. */
  readonly leftOut: readonly string[];
  /** [H, S, S] */
  readonly heads: HeadWeights;
}

export interface Reader {
  readonly title: string;
  readonly layers: number;
  /** The layer that is shown where none is chosen, from 1. */
  readonly usualLayer: number;
  /**
   * @param layer from 1
   * @throws UsageError for a text with nothing to see, or with more than the model reads
   */
  read(text: string, layer: number): Promise<ReadText>;
  dispose(): void;
}
