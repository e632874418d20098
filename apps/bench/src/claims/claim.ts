// A sentence that lessons on attention say, and the run that decides it.
import * as tf from '@tensorflow/tfjs-core';

export type Verdict = 'true' | 'false' | 'depends';

/** The first that holds; else it is false. */
export function decide(holds: { readonly true?: boolean; readonly depends?: boolean }): Verdict {
  if (holds.true) return 'true';
  return holds.depends ? 'depends' : 'false';
}

export interface Finding {
  /** Computed from the numbers: a claim that the run does not bear out is not called true. */
  readonly verdict: Verdict;
  /** What was found, in a sentence or two, with its numbers. */
  readonly answer: string;
}

export interface Claim {
  readonly number: number;
  /** What lessons say, in our words. */
  readonly says: string;
  /**
   * How far measured numbers of two runs may be apart, as a share, where something is trained. Default: 0.02, at most
   * one of the last digit shown.
   */
  readonly within?: number;
  run(): Finding | Promise<Finding>;
  /** A sentence on time, which differs between machines: measured for the page, and not held to by its test. */
  time?(): string;
}

/** Runs it on the current backend, and leaves nothing in memory but what it has in variables and keeps itself. */
export async function runClaim({ run }: Claim): Promise<Finding> {
  tf.engine().startScope();
  try {
    return await run();
  } finally {
    tf.engine().endScope();
  }
}

/** As `runClaim`, of its sentence on time. */
export const timeClaim = ({ time }: Claim): string | undefined => time && tf.tidy(time as never);

/** Standard normal numbers: the same for a seed everywhere. */
const normal = <R extends tf.Rank>(shape: tf.ShapeMap[R], seed: number) =>
  tf.randomNormal<R>(shape, 0, 1, 'float32', seed);

/** [B, H, S, D] */
export const heads = (shape: [B: number, H: number, S: number, D: number], seed: number) =>
  normal<tf.Rank.R4>(shape, seed);

/** [B, S, E] */
export const tokens = (B: number, S: number, E: number, seed: number) => normal<tf.Rank.R3>([B, S, E], seed);

/** The largest absolute difference; NaN where one has it. */
export function difference(one: tf.Tensor, other: tf.Tensor): number {
  tf.util.assertShapesMatch(one.shape, other.shape, 'difference: ');
  return tf.tidy(() => tf.max(tf.abs(tf.sub(one, other))).dataSync()[0]!);
}

export const meanOf = (x: tf.Tensor) => tf.tidy(() => tf.mean(x).dataSync()[0]!);

/** What float32 explains in sums of a few hundred products. */
export const rounding = 1e-5;

/** Three digits that count, with commas: 0.0382, 1.15, 16,400. */
export const digits = (x: number, count = 3) =>
  x.toLocaleString('en', {
    maximumSignificantDigits: count,
    minimumSignificantDigits: Math.abs(x) < 1000 ? count : 1,
  });

/** All digits of a whole number. */
export const whole = (x: number) => x.toLocaleString('en', { maximumFractionDigits: 0 });

export const percent = (share: number) => `${(100 * share).toFixed(0)} %`;
