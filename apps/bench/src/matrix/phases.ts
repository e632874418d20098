// What a call of each phase is: a prompt at once, one token behind those of a cache, or a step of training.
import '@tensorflow/tfjs'; // its gradients
import { type Attention, type AttentionKernel, causal, type KeyValueCache } from '@polyhead/core';
import type { AttentionCost, CostCall } from '@polyhead/inspect';
import * as tf from '@tensorflow/tfjs-core';
import { none } from '../axes/registries';
import type { CellAxes } from './result';

export const mask = causal();

export interface PhaseCall {
  readonly attention: Attention;
  readonly kernel: AttentionKernel;
  readonly query: tf.Tensor3D; // [B, tokens of the call, E]
  readonly cache?: KeyValueCache;
}

/** Tokens that stand in the cache before a call: without a cache a token is decoded by a pass over all. */
export const cachedTokens = ({ phase, cache, tokens }: CellAxes) =>
  phase === 'decode' && cache !== none ? tokens - 1 : 0;

/** Tokens of the query, in each batch entry. */
export const callTokens = (cell: CellAxes) => cell.tokens - cachedTokens(cell);

/** Tokens that a call brings forward, in all batch entries together. */
export const newTokens = ({ phase, tokens, batch }: CellAxes) => batch * (phase === 'decode' ? 1 : tokens);

/** The tensor whose numbers end the call. Inside a tidy. */
export function runPhase(phase: CellAxes['phase'], call: PhaseCall): tf.Tensor {
  return phase === 'training' ? trainingStep(call).loss : outputOf(call);
}

export function outputOf({ attention, kernel, query, cache }: PhaseCall): tf.Tensor3D {
  return attention.apply({ query }, { mask, kernel, ...(cache && { cache }) }).output;
}

/** loss = ½ Σ output², and the gradients of all variables. */
export function trainingStep(call: PhaseCall) {
  const { value, grads } = tf.variableGrads(
    () => tf.mul(0.5, tf.sum(tf.square(outputOf(call)))) as tf.Scalar,
    call.attention.variables.map(({ variable }) => variable),
  );
  return { loss: value, gradients: grads };
}

/** What `attentionCost` counts of a call. */
export const costCallOf = (cell: CellAxes): CostCall => ({
  batch: cell.batch,
  queries: callTokens(cell),
  keys: cell.tokens,
  cachedKeys: cachedTokens(cell),
  mask,
});

export function flopOf({ flops: { forward, backward } }: AttentionCost, phase: CellAxes['phase']): number {
  return forward.total + (phase === 'training' ? backward.total : 0);
}
