// The tensors of a call as the blocks use them: scaled, masks as numbers to add, and rows that nobody sees made zero.
import * as tf from '@tensorflow/tfjs-core';
import { type CallSizes, checkInputs } from '../check-inputs';
import type { KernelCall } from '../kernel';
import type { MaskPlan } from '../mask';
import type { Positions } from '../position';
import { zeroWhere } from './added-to-scores';
import type { PreparedTable, PreparedTables } from './block-tables';
import type { Differentiable } from './inputs';
import { allFinite, isTrue, withoutUnseenRows } from './unseen-rows';

export interface Prepared {
  readonly sizes: CallSizes;
  readonly plan: MaskPlan;
  readonly order: Positions;
  readonly scale: number;
  readonly query: tf.Tensor4D; // times scale
  readonly key: tf.Tensor4D;
  readonly value: tf.Tensor4D;
  readonly bias?: tf.Tensor4D;
  readonly biasIsFinite: boolean; // known to be, tables included; then it hides no pair
  readonly dense: readonly tf.Tensor4D[]; // 0 where visible, -Infinity where hidden
  readonly sink?: tf.Tensor4D; // [1, Hq, 1, 1]
  readonly softcap: number; // 0: off
  readonly dropout?: { readonly rate: number; readonly seed: number };
  readonly tables?: PreparedTables;
}

export function prepare(call: KernelCall, inputs: Differentiable): Prepared {
  const { plan, order, scale, softcap, dropout } = call;
  const { bias, sinkLogits, tableBias } = inputs;
  const sizes = checkInputs('composed', inputs);
  const biasIsFinite = [bias, tableBias].every((x) => x === undefined || allFinite(x));
  const { query, key, value, tableKeysQuery } = withoutUnseenRows(inputs, { plan, biasIsFinite });
  const tables = preparedTables(call, { ...inputs, ...(tableKeysQuery && { tableKeysQuery }) }, sizes);
  return {
    sizes,
    plan,
    order,
    scale,
    query: tf.mul(query, scale),
    key,
    value,
    biasIsFinite,
    dense: plan.dense.map((mask) => zeroWhere(isTrue(mask))),
    softcap: softcap ?? 0,
    ...(bias && { bias }),
    ...(sinkLogits && { sink: tf.reshape(sinkLogits, [1, sizes.Hq, 1, 1]) }),
    ...(dropout && dropout.rate > 0 && { dropout }),
    ...(tables && { tables }),
  };
}

function preparedTables(
  { relative, positions, scale }: KernelCall,
  { tableBias, tableKeys, tableKeysQuery, tableQueries, tableValues }: Differentiable,
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
    ...(tableBias && {
      bias: {
        table: tf.reshape(tableBias, [1, Hq, 1, tableBias.shape[1]]),
        index: relative.bias!.index,
        size: tableBias.shape[1],
        heads: Hq,
      },
    }),
    ...(tableKeys && {
      keys: { ...of('keys', tableKeys), ...(tableKeysQuery && { query: tf.mul(tableKeysQuery, scale) }) },
    }),
    ...(tableQueries && { queries: of('queries', perHead(tableQueries), scale) }),
    ...(tableValues && { values: of('values', tableValues) }),
  };
}
