// What each head adds to the logits of the next token, and which tokens it raises most.
import type { AttentionKernel } from '@polyhead/core';
import { printable } from '@polyhead/inspect';
import type { Decoder, LogitPart } from '@polyhead/transformer';
import * as tf from '@tensorflow/tfjs-core';
import { WrongResultError } from '../command-line/errors';
import type { LoadedModel } from '../model/loaded-model';
import { idsOf } from '../model/proof';

export interface PartShare {
  readonly part: LogitPart;
  /** To the logit of the likeliest token, less the mean of what it adds to all: what all tokens get changes nothing. */
  readonly added: number;
  /** The tokens that it raises most. */
  readonly raises: readonly string[];
}

export interface LogitShares {
  readonly prompt: string;
  /** The likeliest. */
  readonly next: string;
  /** In the order in which the model computes them: their `added` sum to `logit`. */
  readonly parts: readonly PartShare[];
  /** Of the likeliest token, less the mean of all. */
  readonly logit: number;
  /** How far the parts' sum is from the logits, as a share of the largest logit. */
  readonly error: number;
}

const raised = 3;

/** @throws WrongResultError where the parts do not sum to the logits */
export function measureLogits(loaded: LoadedModel, prompt: string, kernel: AttentionKernel): LogitShares {
  const model = loaded.model as Decoder;
  const ids = tf.tensor2d([idsOf(loaded, prompt)], undefined, 'int32');
  const whole = tf.tidy(() => model.apply(ids, { logits: 'last', kernel }).logits.dataSync());
  const { parts, logits } = model.logitParts(ids, { kernel });
  const numbers = logits.dataSync();
  tf.dispose([ids, logits]);
  const V = whole.length;
  const rows = parts.map((_, p) => numbers.subarray(p * V, (p + 1) * V));
  const error = errorOf(rows, whole, model.config.logitSoftcap ?? 0);
  if (!(error < 1e-4)) throw new WrongResultError(`parts of the logits sum to others: off by ${error}`);
  const token = (id: number) => printable(loaded.tokenizer.decode([id]));
  const next = topOf(whole, 1)[0]!;
  const shares = parts.map((part, p) => ({
    part,
    added: rows[p]![next]! - meanOf(rows[p]!),
    raises: topOf(rows[p]!, raised).map(token),
  }));
  const logit = shares.reduce((sum, { added }) => sum + added, 0);
  return { prompt, next: token(next), parts: shares, logit, error };
}

function errorOf(rows: readonly ArrayLike<number>[], whole: ArrayLike<number>, softcap: number): number {
  let [off, largest] = [0, 0];
  for (let v = 0; v < whole.length; v++) {
    const sum = rows.reduce((total, row) => total + row[v]!, 0);
    off = Math.max(off, Math.abs((softcap > 0 ? softcap * Math.tanh(sum / softcap) : sum) - whole[v]!));
    largest = Math.max(largest, Math.abs(whole[v]!));
  }
  return off / largest;
}

const meanOf = (row: ArrayLike<number>) => Array.from(row).reduce((sum, x) => sum + x, 0) / row.length;

/** The places of the largest numbers, the largest first. */
function topOf(row: ArrayLike<number>, count: number): number[] {
  const top: number[] = [];
  for (let v = 0; v < row.length; v++) {
    if (top.length === count && row[v]! <= row[top.at(-1)!]!) continue;
    const at = top.findIndex((other) => row[v]! > row[other]!);
    top.splice(at < 0 ? top.length : at, 0, v);
    top.length = Math.min(top.length, count);
  }
  return top;
}
