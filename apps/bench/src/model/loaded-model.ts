// A model of a file, ready to be asked: what all kinds of files are made into.
import type {
  CausalModel,
  GenerateOptions,
  SequenceToSequenceModel,
  TextTokenizer,
} from '@polyhead/transformer';
import type { NamedVariables } from '@polyhead/weights';

export interface LoadedModel {
  /** What it is, in words. */
  readonly title: string;
  readonly model: (CausalModel | SequenceToSequenceModel) & NamedVariables & { dispose(): void };
  readonly tokenizer: TextTokenizer;
  readonly stopTokens: readonly number[];
  /** Of the file, or of all its shards. */
  readonly fileBytes: number;
  /** The path of the file, where it is one of GGUF. */
  readonly gguf?: string | undefined;
  /** A question as the model was trained to be asked. */
  prompt(text: string): string;
  /** How answers are drawn. Default: the likeliest tokens. */
  readonly sampling?: Pick<GenerateOptions, 'temperature' | 'topP' | 'seed'> | undefined;
  /** Asked where nobody asks. */
  readonly question: string;
  /** What another library computes with the same file. */
  readonly golden?: Golden | undefined;
}

/** Numbers of another library. */
export interface Golden {
  /** The library and its version. */
  readonly reference: string;
  /** The largest difference of a logit that is allowed. */
  readonly tolerance: number;
  /** Tokens count as long as the likeliest is so far before the next: below, rounding decides. */
  readonly leastMargin: number;
  readonly cases: readonly GoldenCase[];
}

export interface GoldenCase {
  readonly text: string;
  /** What generation is given: tokens of the prompt, or of the source. */
  readonly ids: readonly number[];
  /** Tokens of the decoder to which `rows` belong: the prompt, or the target. */
  readonly decoded: readonly number[];
  /** Some logits behind some of those tokens. */
  readonly rows: readonly GoldenRow[];
  /** Tokens that follow greedily, and how far each is before the next likeliest. */
  readonly greedy: readonly number[];
  readonly margins: readonly number[];
}

export interface GoldenRow {
  /** The place of the token in `decoded`. */
  readonly at: number;
  readonly tokens: readonly number[];
  readonly logits: readonly number[];
}

export const decoderOf = (model: CausalModel | SequenceToSequenceModel): CausalModel =>
  'encode' in model ? model.decoder : model;
