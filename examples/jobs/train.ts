// What the small jobs share: numbers drawn from a seed, a loop of training, answers token by token, and the maps of a call.
import { exactWeights, flash, withStatistics } from '@polyhead/flash';
import type { ModelPart } from '@polyhead/transformer';
import { adamW, clipGradients, gradientsOf, warmupCosine } from '@polyhead/transformer/training';
import * as tf from '@tensorflow/tfjs';

export type Random = (below: number) => number;

/** Whole numbers from 0 on, below a bound: mulberry32 (Tommy Ettinger 2017). */
export function randomFrom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** Says how it goes. Default: nobody is told. */
export type Tell = (line: string) => void;

export interface Training {
  readonly steps: number;
  /** The learning rate after warming up. */
  readonly peak: number;
  readonly tell: Tell;
}

/** AdamW with clipped gradients; the rate rises, then falls along a cosine. */
export function train(
  variables: ModelPart['variables'],
  loss: (step: number) => tf.Scalar,
  { steps, peak, tell }: Training,
): void {
  const optimizer = adamW(variables, { beta2: 0.98, weightDecay: 0 });
  const rate = warmupCosine({
    peak,
    warmupSteps: Math.max(1, Math.round(steps / 20)),
    steps,
    end: peak / 20,
  });
  for (let step = 1; step <= steps; step++)
    tf.tidy(() => {
      const { loss: value, gradients } = gradientsOf(() => loss(step), variables);
      optimizer.update(clipGradients(gradients, 1).gradients, rate(step));
      if (step % Math.ceil(steps / 8) === 0)
        tell(`  step ${step}: ${value.dataSync()[0]!.toFixed(3)} nats a token`);
    });
  optimizer.dispose();
}

export const idsOf = (rows: readonly (readonly number[])[]) =>
  tf.tensor2d(
    rows.map((row) => [...row]),
    undefined,
    'int32',
  );

/** The likeliest tokens behind a start, [B][length]: `logitsOf` scores what follows each token of the rows so far. */
export function answer(count: number, length: number, logitsOf: (rows: number[][]) => tf.Tensor): number[][] {
  const rows = Array.from({ length: count }, () => [0]);
  for (let n = 0; n < length; n++) {
    const next = tf.tidy(() => {
      const logits = logitsOf(rows); // [B, n + 1, V]
      return tf.argMax(tf.slice(logits, [0, n, 0], [-1, 1, -1]), 2).arraySync() as number[][];
    });
    for (const [b, row] of rows.entries()) row.push(next[b]![0]!);
  }
  return rows.map((row) => row.slice(1));
}

/** The weights of each attention that runs, in order: [H][Sq][Skv], of the first batch entry. */
export function mapsOf(run: (kernel: ReturnType<typeof flash>) => unknown): number[][][][] {
  const maps: number[][][][] = [];
  const kernel = withStatistics(flash(), { weights: exactWeights() }, ({ weights }) =>
    maps.push((weights.arraySync() as number[][][][])[0]!),
  );
  tf.tidy(() => void run(kernel));
  return maps;
}

/** How many rows are equal, as a share. */
export const shareRight = (said: readonly (readonly number[])[], wanted: readonly (readonly number[])[]) =>
  said.filter((row, b) => `${row}` === `${wanted[b]}`).length / said.length;
