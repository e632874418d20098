// The tensors of a call that have gradients, by name. Stored keys and values have none.
import type * as tf from '@tensorflow/tfjs-core';
import type { KernelCall, NamedTensors } from '../contract/kernel';
import type { RelativeTables } from '../contract/position';

/** The tensors of a call by name; those that it does not have are absent. */
export interface CallTensors {
  /** [B, Hq, Sq, D] */
  readonly query: tf.Tensor4D;
  /** [B, Hkv, Skv, D] */
  readonly key?: tf.Tensor4D;
  /** [B, Hkv, Skv, Dv] */
  readonly value?: tf.Tensor4D;
  /** Broadcasts to [B, Hq, Sq, Skv]. */
  readonly bias?: tf.Tensor4D;
  /** [Hq] */
  readonly sinkLogits?: tf.Tensor1D;
  /** [Hq, R] */
  readonly biasTable?: tf.Tensor2D;
  /** [1 | Hq, R, D] */
  readonly keyTable?: tf.Tensor3D;
  /** [B, Hq, Sq, D]: what the table of keys is multiplied by, where it is not the query. */
  readonly keyTableQuery?: tf.Tensor4D;
  /** [1 | Hq, R, D] */
  readonly queryTable?: tf.Tensor3D;
  /** [1 | Hq, R, Dv] */
  readonly valueTable?: tf.Tensor3D;
  readonly [own: `tensors/${string}`]: tf.Tensor; // of a variant's own
  readonly [earlier: `state/${string}`]: tf.Tensor;
}

type Named = { -readonly [name in keyof CallTensors]: CallTensors[name] };

/** By name; those the call does not have are left out. */
export function callTensors({ inputs, bias, sinkLogits, relative, tensors }: KernelCall): CallTensors {
  const named: Named = { query: inputs.query };
  if (!inputs.stored) {
    named.key = inputs.key;
    named.value = inputs.value;
    addAs('state', inputs.state, named);
  }
  if (bias) named.bias = bias;
  if (sinkLogits) named.sinkLogits = sinkLogits;
  if (relative) addTables(relative, named);
  addAs('tensors', tensors, named);
  return named;
}

function addTables({ bias, keys, queries, values }: RelativeTables, named: Named): void {
  if (bias) named.biasTable = bias.table;
  if (keys) named.keyTable = keys.table;
  if (keys?.query) named.keyTableQuery = keys.query;
  if (queries) named.queryTable = queries.table;
  if (values) named.valueTable = values.table;
}

function addAs(prefix: 'tensors' | 'state', tensors: NamedTensors | undefined, named: Named): void {
  if (!tensors) return;
  for (const [name, tensor] of Object.entries(tensors)) named[`${prefix}/${name}`] = tensor;
}
