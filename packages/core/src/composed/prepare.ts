// The tensors of a call as the blocks use them: scaled, masks as numbers to add, and rows that nobody sees made zero.
import * as tf from '@tensorflow/tfjs-core';
import { type CallSizes, checkInputs } from '../check-inputs';
import type { KernelCall } from '../kernel';
import type { MaskPlan } from '../mask';
import type { Positions } from '../position';
import { zeroWhere } from './added-to-scores';
import { allFinite, withoutUnseenRows } from './unseen-rows';

/** The differentiable inputs of a call, in the order that gradients are given back. */
export interface Differentiable {
  readonly query: tf.Tensor4D; // [B, Hq, Sq, D]
  readonly key: tf.Tensor4D; // [B, Hkv, Skv, D]
  readonly value: tf.Tensor4D; // [B, Hkv, Skv, Dv]
  readonly bias?: tf.Tensor4D; // broadcasts to [B, Hq, Sq, Skv]
  readonly sinkLogits?: tf.Tensor1D; // [Hq]
}

export interface Prepared {
  readonly sizes: CallSizes;
  readonly plan: MaskPlan;
  readonly order: Positions;
  readonly query: tf.Tensor4D; // times scale
  readonly key: tf.Tensor4D;
  readonly value: tf.Tensor4D;
  readonly bias?: tf.Tensor4D;
  readonly biasIsFinite: boolean; // known to be; then it hides no pair
  readonly dense: readonly tf.Tensor4D[]; // 0 where visible, -Infinity where hidden
  readonly sink?: tf.Tensor4D; // [1, Hq, 1, 1]
  readonly softcap: number; // 0: off
  readonly dropout?: { readonly rate: number; readonly seed: number };
}

export function prepare(call: KernelCall, inputs: Differentiable): Prepared {
  const { plan, order, scale, softcap = 0, dropout } = call;
  const { bias, sinkLogits } = inputs;
  const sizes = checkInputs('composed', inputs);
  const biasIsFinite = bias === undefined || allFinite(bias);
  const { query, key, value } = withoutUnseenRows(inputs, { plan, biasIsFinite });
  return {
    sizes,
    plan,
    order,
    query: tf.mul(query, scale),
    key,
    value,
    biasIsFinite,
    dense: plan.dense.map((mask) => zeroWhere(tf.cast(mask, 'bool'))),
    softcap: softcap ?? 0,
    ...(bias && { bias }),
    ...(sinkLogits && { sink: tf.reshape(sinkLogits, [1, sizes.Hq, 1, 1]) }),
    ...(dropout && dropout.rate > 0 && { dropout }),
  };
}
