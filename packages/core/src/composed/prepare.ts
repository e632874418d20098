// The tensors of a call as the blocks use them: heads scaled, masks as numbers to add, tables of rank 4.
import * as tf from '@tensorflow/tfjs-core';
import { zeroWhere } from '../backend/device-math';
import { allFinite } from '../backend/finite';
import type { CallSizes, KernelCall } from '../contract/kernel';
import type { MaskPlan } from '../contract/mask';
import type { Positions } from '../contract/position';
import type { CallTensors } from '../kernel/call-tensors';
import { materialized } from '../kernel/materialized';
import type { PreparedTable, PreparedTables } from './block-tables';
import { lookup } from './distance-lookup';
import type { ResultGradients } from './formula';
import { isTrue } from './masked-rows';
import { pairIndex } from './pair-index';
import { type PreparedHeads, prepareHeads } from './prepare-heads';

/** The tensors of a call, stored keys and values among them. */
export interface Differentiable extends CallTensors {
  readonly key: tf.Tensor4D; // [B, Hkv, Skv, D]
  readonly value: tf.Tensor4D; // [B, Hkv, Skv, Dv]
}

/** A call as the blocks use it. */
export interface Prepared extends PreparedHeads {
  readonly sizes: CallSizes;
  readonly plan: MaskPlan;
  readonly order: Positions;
  readonly scale: number;
  readonly bias?: tf.Tensor4D;
  readonly biasIsFinite: boolean; // known to be, tables included; then it hides no pair
  readonly dense: readonly tf.Tensor4D[]; // 0 where visible, -Infinity where hidden
  readonly sink?: tf.Tensor4D; // [1, Hq, 1, 1]
  readonly sinkIsFinite: boolean; // known to be
  readonly softcap: number; // 0: off
  readonly dropout?: { readonly rate: number; readonly seed: number };
  readonly tables?: PreparedTables;
}

/**
 * A call as the blocks use it.
 *
 * @param gradients of the results, in the backward pass
 */
export function prepare(call: KernelCall, tensors: CallTensors, gradients?: ResultGradients): Prepared {
  const { plan, order, scale, softcap = 0, dropout, sizes } = call;
  const { stored } = call.inputs;
  const inputs = { ...tensors, ...(stored && materialized('attend', stored)) } as Differentiable;
  const { bias, sinkLogits } = inputs;
  const biasIsFinite = isKnownFinite(inputs);
  const heads = prepareHeads(call, inputs, {
    sizes,
    hidingBiases: () => allBiases(call, inputs, sizes),
    biasIsFinite,
    gradients,
  });
  const tables = preparedTables(call, { ...inputs, ...heads }, sizes);
  return {
    sizes,
    plan,
    order,
    scale,
    ...heads,
    biasIsFinite,
    dense: plan.dense.map((mask) => zeroWhere(isTrue(mask))),
    sinkIsFinite: sinkLogits !== undefined && allFinite(sinkLogits),
    softcap,
    ...(bias && { bias }),
    ...(sinkLogits && { sink: tf.reshape(sinkLogits, [1, sizes.Hq, 1, 1]) }),
    ...(dropout && dropout.rate > 0 && { dropout }),
    ...(tables && { tables }),
  };
}

/** True where what is added to scores is known to be finite, so that it hides no pair; two of them could overflow. */
function isKnownFinite({ bias, biasTable }: Differentiable): boolean {
  if (bias && biasTable) return [bias, biasTable].every((x) => tf.tidy(() => allFinite(tf.mul(x, 2))));
  return [bias, biasTable].every((x) => x === undefined || allFinite(x));
}

/** All that is added to scores, for the whole call. */
function allBiases(call: KernelCall, { bias, biasTable }: Differentiable, sizes: CallSizes): tf.Tensor4D[] {
  const { B, Hq, Sq, Skv } = sizes;
  if (!biasTable) return bias ? [bias] : [];
  const R = biasTable.shape[1];
  const whole = { ...sizes, batch: [0, B], rows: [0, Sq], keys: [0, Skv], sinkKey: false } as const;
  const index = pairIndex(call.positions, call.relative!.bias!.index, R, whole);
  const ofDistance = lookup(tf.reshape(biasTable, [1, Hq, 1, R]), index, 'neither');
  return bias ? [tf.add(bias, ofDistance)] : [ofDistance];
}

function preparedTables(
  { relative, positions, scale }: KernelCall,
  { biasTable, keyTable, keyTableQuery, queryTable, valueTable }: Differentiable,
  { Hq }: CallSizes,
): PreparedTables | undefined {
  if (!relative) return undefined;
  const of = (name: 'keys' | 'queries' | 'values', table: tf.Tensor3D, factor = 1): PreparedTable => ({
    table: tf.mul(tf.expandDims<tf.Tensor4D>(table, 0), factor),
    index: relative[name]!.index,
    size: table.shape[1],
    heads: relative[name]!.table.shape[0],
  });
  const perHead = (table: tf.Tensor3D): tf.Tensor3D => tf.add(table, tf.zeros([Hq, 1, 1]));
  return {
    positions,
    ...(biasTable && {
      bias: {
        table: tf.reshape(biasTable, [1, Hq, 1, biasTable.shape[1]]),
        index: relative.bias!.index,
        size: biasTable.shape[1],
        heads: Hq,
      },
    }),
    ...(keyTable && {
      keys: { ...of('keys', keyTable), ...(keyTableQuery && { query: keyTableQuery }) },
    }),
    ...(queryTable && { queries: of('queries', perHead(queryTable), scale) }),
    ...(valueTable && { values: of('values', valueTable) }),
  };
}
