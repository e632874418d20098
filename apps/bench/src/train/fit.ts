// Training of a small decoder: AdamW, clipped gradients, a rate that is given.
import type { AttentionKernel } from '@polyhead/core';
import type { Decoder } from '@polyhead/transformer';
import { adamW, clipGradients, decayMatrices, gradientsOf } from '@polyhead/transformer/training';
import * as tf from '@tensorflow/tfjs'; // its gradients
import { lossOf, type Rows } from './byte-text';

export interface Fit {
  readonly steps: number;
  /** Of a step, from 1 on. */
  rate(step: number): number;
  nextRows(): Rows;
  readonly kernel?: AttentionKernel;
  /** @param loss of this step's batch before the step, in nats a byte */
  onStep?(step: number, loss: number): void | Promise<void>;
}

/** A model, and a step that changes its weights. */
export function trainer(model: Decoder, kernel?: AttentionKernel) {
  const optimizer = adamW(model.variables, { beta2: 0.98, weightDecay: decayMatrices(0.05) });
  return {
    /** @returns the loss before the step, in nats a byte */
    async step(rows: Rows, rate: number): Promise<number> {
      const { loss, gradients } = gradientsOf(() => lossOf(model, rows, kernel), model.variables);
      const clipped = clipGradients(gradients, 1);
      optimizer.update(clipped.gradients, rate);
      const [nats] = await loss.data();
      tf.dispose([loss, gradients, clipped.gradients, clipped.norm]);
      return nats!;
    },
    dispose: () => optimizer.dispose(),
  };
}

export async function fit(model: Decoder, { steps, rate, nextRows, kernel, onStep }: Fit): Promise<void> {
  const { step, dispose } = trainer(model, kernel);
  try {
    for (let n = 1; n <= steps; n++) await onStep?.(n, await step(nextRows(), rate(n)));
  } finally {
    dispose();
  }
}
