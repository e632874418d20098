// One question about the heads of a model, and its answer: as text, as JSON, and where it can be drawn as SVG.
import type { Reader } from '../attention/reader';
import type { Progress } from '../command-line/progress';

export interface Section {
  /** How it is chosen, and its key in the JSON. */
  readonly name: string;
  /** What is shown, in a line. */
  readonly title: string;
  /** @returns what was found, or why the model has no answer */
  measure(model: Reader, progress: Progress): Promise<Answer | NoAnswer>;
}

export interface Answer {
  /** No wider than `width` where they are tables. */
  lines(width: number): readonly string[];
  /** Plain data. */
  readonly json: object;
  /** A document whose `viewBox` begins at 0. */
  readonly svg?: string;
}

/** In a sentence. */
export interface NoAnswer {
  readonly reason: string;
}
