// Retention (Sun et al. 2023, 2307.08621) with a decay for each token (Yang et al. 2023, 2312.06635), as a kernel: no softmax,
// a tensor of its own, and a state of fixed size in place of all earlier tokens.
//
//   S_i = decay_i S_(i-1) + k_i v_iᵀ,   output_i = scale q_i S_i
//
// It is written to be read, and has all pairs at once: output_i = scale Σ_j (decay_(j+1) ⋯ decay_i) (q_i · k_j) v_j.
import type { AttentionKernel, KernelCall, MaskPlan } from '@polyhead/core';
import { materialized } from '@polyhead/core/kernel';
import * as tf from '@tensorflow/tfjs-core';
import { seededRandom, tabulate } from '../inputs';
import type { OracleInputs, Sizes } from '../oracle';
import { showsFirstKeys } from './linear-kernel';

/** The kernel. Its masks show each row the first keys, as those of `linear` do. */
export function retention(): AttentionKernel {
  return {
    name: 'retention',
    takes: ['decay'],
    takesState: true,
    unsupported(call) {
      const refused = ['bias', 'softcap', 'sinkLogits', 'dropout', 'relative'] as const;
      const returns = (call.returns ?? [])
        .filter((name) => name !== 'state')
        .map((name) => `it has no ${name}`);
      return [
        ...refused.filter((option) => call[option]).map((option) => `it has no ${option}`),
        ...returns,
        ...(call.tensors?.decay ? [] : ['it needs the tensor decay, [B, Hq, Skv]']),
        ...(showsFirstKeys(call) ? [] : ['a row must see the first keys: no mask, causal or lengths']),
      ];
    },
    run,
  };
}

/** How many keys each row sees. */
function endsOf(spans: MaskPlan['spans']): readonly number[] {
  return Array.from({ length: spans.length / 2 }, (_, row) =>
    Math.max(spans[2 * row + 1]! - spans[2 * row]!, 0),
  );
}

function run({ inputs, sizes, plan, tensors, scale, returns }: KernelCall) {
  const { B, Hq, Hkv, Sq, Skv, D, Dv } = sizes;
  const { query, stored, state } = inputs;
  const { key, value } = stored ? materialized('retention', stored) : inputs;
  const start = state?.sum ?? tf.zeros([B, Hq, D, Dv]);
  const ends = endsOf(plan.spans);
  const shapeOf = (width: number) => [plan.shape[0], 1, Sq, width] as const;
  const sees = tf.tensor4d(
    ends.map((end) => Number(end > 0)),
    [...shapeOf(1)],
  );
  const q = tf.where(tf.cast(sees, 'bool'), query, tf.zerosLike(query)); // rows that see nothing may hold anything
  if (Skv === 0) {
    const output = tf.mul(tf.matMul(q, start), scale) as tf.Tensor4D;
    return { output, ...(returns?.includes('state') && { state: { sum: tf.clone(start) } }) };
  }
  const visible = tf.tensor4d(
    ends.flatMap((end) => firsts(end, Skv)),
    [...shapeOf(Skv)],
  );
  const isSeen = tf.cast(tf.reshape(tf.max(visible, 2), [-1, 1, Skv, 1]), 'bool');
  const perQueryHead = (x: tf.Tensor4D, width: number) => {
    const shown = tf.where(isSeen, x, tf.zerosLike(x));
    const copies = Array.from({ length: Hq / Hkv }, () => tf.expandDims(shown, 2));
    return tf.reshape(copies.length === 1 ? shown : tf.concat(copies, 2), [B, Hq, Skv, width]);
  };
  const [k, v] = [perQueryHead(key, D), perQueryHead(value, Dv)];

  const isLast = tf.tensor4d(
    ends.flatMap((end) => firsts(end, Skv).map((_, j) => Number(j === end - 1))),
    [...shapeOf(Skv)],
  );
  const logs = tf.expandDims(tf.cumsum(tf.log(tensors!.decay!), 2), 2); // of decay_0 ⋯ decay_j, [B, Hq, 1, Skv]
  const own = tf.sum(tf.mul(isLast, logs), 3, true); // [B, Hq, Sq, 1]
  const decays = tf.mul(tf.exp(tf.mul(tf.sub(own, logs), visible)), visible); // 0 where hidden
  const now = tf.matMul(tf.mul(tf.matMul(q, k, false, true), decays), v);
  const before = tf.mul(tf.matMul(q, start), tf.exp(own));
  const output = tf.mul(tf.add(now, before), scale) as tf.Tensor4D;
  if (!returns?.includes('state')) return { output };

  const total = tf.slice(logs, [0, 0, 0, Skv - 1], [-1, -1, -1, 1]);
  const toEnd = tf.transpose(tf.exp(tf.sub(total, logs)), [0, 1, 3, 2]); // decay_(j+1) ⋯ decay_(Skv-1)
  const sum = tf.add(tf.mul(start, tf.exp(total)), tf.matMul(tf.mul(k, toEnd), v, true));
  return { output, state: { sum } };
}

/** 1 for each of the first keys, 0 for the others. */
const firsts = (end: number, Skv: number) => Array.from({ length: Skv }, (_, j) => Number(j < end));

/** Decays from a half to 1, [B, Hq, Skv]. */
export function decays({ B, Hq, Skv }: Sizes, random: () => number = seededRandom(1)) {
  return { decay: tabulate([B, Hq, Skv], () => 0.5 + Math.floor(random() * 128) / 256) };
}

/** The definition, in doubles: for each row the recurrence over the keys that it sees. */
export function retentionOracle({ sizes, query, key, value, scale, tensors, isVisible }: OracleInputs) {
  const { B, Hq, Hkv, Sq, Skv, D, Dv } = sizes;
  const output = new Float64Array(B * Hq * Sq * Dv);
  for (let at = 0; at < B * Hq * Sq; at++) {
    const [b, h, i] = [Math.floor(at / (Hq * Sq)), Math.floor(at / Sq) % Hq, at % Sq];
    const sum = new Float64Array(D * Dv);
    for (let j = 0; j < Skv; j++) {
      if (isVisible?.(b, h, i, j) === false) break;
      const row = (b * Hkv + Math.floor((h * Hkv) / Hq)) * Skv + j;
      const decay = tensors!.decay!.data[(b * Hq + h) * Skv + j]!;
      for (let d = 0; d < D; d++) {
        for (let n = 0; n < Dv; n++)
          sum[d * Dv + n] = decay * sum[d * Dv + n]! + key[row * D + d]! * value[row * Dv + n]!;
      }
    }
    if (Skv === 0 || isVisible?.(b, h, i, 0) === false) continue; // such a row's query may hold anything
    for (let n = 0; n < Dv; n++) {
      let product = 0;
      for (let d = 0; d < D; d++) product += query[at * D + d]! * sum[d * Dv + n]!;
      output[at * Dv + n] = (scale ?? 1 / Math.sqrt(D)) * product;
    }
  }
  return { output, maxAbsScore: 0 };
}
