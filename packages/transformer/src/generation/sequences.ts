// The sequences of a batch: their tokens so far, and the logits of the token that follows each.
import type { AttentionKernel } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import type { CausalModel, LayerCaches } from '../models/causal-model';
import { withRows } from '../models/take-back';

/** What the calls of the model take. */
export interface SequenceOptions {
  /** Where keys and values are kept; without one all tokens are computed at each step. */
  readonly cache?: (LayerCaches & { select?(entries: readonly number[], options: object): void }) | undefined;
  /** Tokens of a prompt that one call takes. Default: all. */
  readonly chunkSize?: number | undefined;
  /** In place of the layers' own kernel. */
  readonly kernel?: AttentionKernel | undefined;
  /** Before each call of the model it is asked whether to go on. */
  readonly signal?: AbortSignal | undefined;
  /** An encoder's output, [B, Sm, E], and how many of its rows count. */
  readonly source?:
    | { readonly memory: tf.Tensor; readonly lengths?: readonly number[] | undefined }
    | undefined;
}

export class Sequences {
  /** Of each batch entry: the prompt, then what was appended. */
  readonly tokens: number[][];
  private read: number[]; // tokens of each entry that the cache holds
  private readonly isEnded: boolean[];

  constructor(
    private readonly model: CausalModel,
    prompts: readonly (readonly number[])[],
    private readonly options: SequenceOptions,
  ) {
    this.tokens = prompts.map((prompt) => [...prompt]);
    this.read = prompts.map(() => 0);
    this.isEnded = prompts.map(() => false);
  }

  /** One token more for each entry that has one. */
  append(tokens: readonly (number | undefined)[]): void {
    for (const [b, token] of tokens.entries()) if (token !== undefined) this.tokens[b]!.push(token);
  }

  /** The cache takes no more tokens of this entry. */
  end(b: number): void {
    this.isEnded[b] = true;
  }

  /** Entry b goes on as entry `entries[b]`, which attends to the same source. */
  select(entries: readonly number[]): void {
    if (entries.every((entry, b) => entry === b)) return;
    const { cache } = this.options;
    if (cache?.select) cache.select(entries, { cross: false });
    else for (const layer of withRows(cache?.self ?? [])) layer.select!(entries);
    const [tokens, read] = [entries.map((entry) => [...this.tokens[entry]!]), [...this.read]];
    for (const b of entries.keys()) this.tokens[b] = tokens[b]!;
    this.read = entries.map((entry) => read[entry]!);
  }

  /**
   * Logits of the next token of each entry, those that have ended included, whose numbers mean nothing: B arrays of V. Leaves no tensor; where it throws, the cache holds the chunks that
   * were read before, the same in all layers.
   */
  async nextLogits(): Promise<readonly Float32Array[]> {
    const calls = this.chunks();
    for (const counts of calls.slice(0, -1)) {
      this.apply(counts).dispose();
      await turn();
    }
    const logits = this.apply(calls.at(-1)!); // [B, 1, V]
    try {
      const numbers = (await logits.data()) as Float32Array;
      const V = logits.size / this.tokens.length;
      await turn();
      return this.tokens.map((_, b) => numbers.slice(b * V, (b + 1) * V));
    } finally {
      logits.dispose();
    }
  }

  /** How many tokens of each entry each call takes. All last tokens are in the last call, whose logits are wanted. */
  private chunks(): readonly (readonly number[])[] {
    const { cache, chunkSize } = this.options;
    const left = this.tokens.map(({ length }, b) => (cache ? this.left(length, b) : length));
    if (!cache || chunkSize === undefined) return [left];
    const calls = Math.ceil(Math.max(...left) / chunkSize);
    return Array.from({ length: calls }, (_, call) => {
      const behind = (calls - 1 - call) * chunkSize; // tokens that later calls take
      return left.map((count) => Math.min(Math.max(count - behind, 0), call === 0 ? count : chunkSize));
    });
  }

  private left(length: number, b: number): number {
    return this.isEnded[b] ? 0 : length - this.read[b]!;
  }

  /** @returns logits of the last token of each, [B, 1, V] */
  private apply(counts: readonly number[]): tf.Tensor3D {
    const { cache, kernel, signal, source } = this.options;
    signal?.throwIfAborted();
    const S = Math.max(...counts);
    const ids = new Int32Array(counts.length * S);
    const from = this.tokens.map((_, b) => (cache ? this.read[b]! : 0));
    counts.forEach((count, b) => {
      ids.set(this.tokens[b]!.slice(from[b]!, from[b]! + count), b * S);
    });
    const isCross = source && !cache?.cross?.[0]?.sealed;
    const result = tf.tidy(
      () =>
        this.model.apply(tf.tensor2d(ids, [counts.length, S], 'int32'), {
          cache,
          kernel,
          logits: 'last',
          lengths: counts.every((count) => count === S) ? undefined : counts,
          memory: isCross ? source.memory : undefined,
          memoryLengths: source?.lengths,
        }).logits,
    );
    this.read = from.map((before, b) => before + counts[b]!);
    return result;
  }
}

/** Lets others have the thread: timers, signals, and what a terminal has to show. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') setImmediate(resolve);
    else setTimeout(resolve);
  });
}
