// Keys and values that belong to the layer, behind those of the input (PyTorch's bias_k, bias_v and add_zero_attn).
import type { AttentionKernel, KernelCall, MaskPlan } from '@polyhead/core';
import { materialized, planOfSpans, wrapKernel } from '@polyhead/core/kernel';
import { addBroadcast } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';

export interface KeyValues {
  readonly key: tf.Tensor4D; // [1, H, M, D]
  readonly value: tf.Tensor4D; // [1, H, M, Dv]
}

/** The kernel, made to see these keys and values too: last, always visible, unbiased, whatever the mask. */
export function withMemory(kernel: AttentionKernel, memory: KeyValues): AttentionKernel {
  if (memory.key.shape[2] === 0) return kernel;
  return wrapKernel(kernel, {
    call: (call) => extend(call, memory),
    unsupported: reasons,
    notes: (call) => (call.inputs.stored ? [copied] : []),
  });
}

const copied = 'stored keys and values are copied into tensors, to stand before the memory';

function reasons({ relative }: KernelCall): string[] {
  return relative
    ? ['memory keys and values stand nowhere, so that relative tables have no distance for them']
    : [];
}

function extend(call: KernelCall, memory: KeyValues): KernelCall {
  const { query, stored } = call.inputs;
  const { key, value } = stored ? materialized('attend', stored) : call.inputs;
  const { plan, bias } = call;
  const { B, Hq, Sq, Skv } = call.sizes;
  const M = memory.key.shape[2];
  return {
    ...call,
    sizes: { ...call.sizes, Skv: Skv + M },
    inputs: { query, key: append(key, memory.key), value: append(value, memory.value) },
    plan: withColumns(plan, { Skv, M, rows: B * Hq * Sq }),
    ...(bias && { bias: padColumns(bias, { Skv, M, by: 0 }) }),
  };
}

function append(rows: tf.Tensor4D, memory: tf.Tensor4D): tf.Tensor4D {
  const everyEntry = addBroadcast(memory, tf.zeros([rows.shape[0], 1, 1, 1])); // [B, H, M, D]
  return tf.concat([rows, everyEntry], 2);
}

/** The plan with columns behind the keys that every row sees. */
function withColumns(plan: MaskPlan, { Skv, M, rows }: { Skv: number; M: number; rows: number }): MaskPlan {
  const [B, H, queries, width] = plan.shape;
  const spans = new Int32Array(B * H * queries * (width + 1) * 2);
  for (let row = 0; row < B * H * queries; row++) {
    const own = plan.spans.subarray(row * width * 2, (row + 1) * width * 2);
    const first = row * (width + 1) * 2;
    let n = 0;
    while (n < own.length && own[n]! < own[n + 1]!) n += 2;
    spans.set(own.subarray(0, n), first);
    spans.set([Skv, Skv + M], first + n);
  }
  const dense = plan.dense.map((mask) => padColumns(tf.cast(mask, 'int32'), { Skv, M, by: 1 }));
  const pairs = plan.pairs + rows * M;
  return planOfSpans({
    shape: [B, H, queries, width + 1],
    spans,
    dense,
    pairs,
    full: plan.full,
    causal: false,
  });
}

/** Columns for the memory; a size of 1 that broadcast over the keys is written out first. */
function padColumns(x: tf.Tensor4D, { Skv, M, by }: { Skv: number; M: number; by: 0 | 1 }): tf.Tensor4D {
  const wide: tf.Tensor4D =
    x.shape[3] === Skv ? x : tf.add(x, tf.zeros([1, 1, 1, Skv], x.dtype as 'float32'));
  return tf.pad(
    wide,
    [
      [0, 0],
      [0, 0],
      [0, 0],
      [0, M],
    ],
    by,
  );
}
