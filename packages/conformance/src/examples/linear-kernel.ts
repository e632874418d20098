// Linear attention (Katharopoulos et al. 2020, 2006.16236) as a kernel: softmax's exp(q · k) becomes φ(q) · φ(k).
//
//   output_i = Σ_j w_ij v_j / Σ_j w_ij,   w_ij = φ(q_i) · φ(k_j) over the visible keys,   φ(x) = elu(x) + 1
//
// It is written to be read, and has all pairs at once; a fast one adds φ(k_j) v_j from left to right.
import type { AttentionKernel, KernelCall } from '@polyhead/core';
import { materialized, withGradient } from '@polyhead/core/kernel';
import * as tf from '@tensorflow/tfjs-core';
import { maskKinds } from '../mask-kinds';
import { attentionOracle, type OracleInputs } from '../oracle';

/** The kernel. Its masks show each row the first keys: none, causal, lengths. */
export function linear(): AttentionKernel {
  return {
    name: 'linear',
    unsupported(call) {
      const refused = ['bias', 'softcap', 'sinkLogits', 'dropout', 'relative'] as const;
      const returns = (call.returns ?? []).map((name) => `it has no ${name}`);
      return [
        ...refused.filter((option) => call[option]).map((option) => `it has no ${option}`),
        ...returns,
        ...(Math.abs(call.scale * Math.sqrt(call.sizes.D) - 1) < 1e-6
          ? []
          : ['a scale cancels in the quotient']),
        ...(showsFirstKeys(call) ? [] : ['a row must see the first keys: no mask, causal or lengths']),
      ];
    },
    run(call) {
      const { query, stored } = call.inputs;
      const inputs = stored ? { query, ...materialized('linear', stored) } : call.inputs;
      return withGradient({ ...call, inputs }, { forward, backward });
    },
  };
}

const prefixes = ['none', 'causal', 'lengths', 'lengths per row', 'causal lengths'];

/** All other kinds of masks, with the reason, as the suite is told of them. */
export const refusedMasks = Object.fromEntries(
  Object.keys(maskKinds)
    .filter((mask) => !prefixes.includes(mask))
    .map((mask) => [`mask: ${mask}`, 'a row must see the first keys']),
);

/** True where each row sees the keys from the first to one of its own. */
export function showsFirstKeys({ plan }: KernelCall): boolean {
  const [, heads, , width] = plan.shape;
  const starts = plan.spans.filter((from, n) => n % 2 === 0 && from < plan.spans[n + 1]!);
  return plan.dense.length === 0 && heads === 1 && width === 1 && starts.every((from) => from === 0);
}

type Tensors = { readonly query: tf.Tensor4D; readonly key?: tf.Tensor4D; readonly value?: tf.Tensor4D };

/** What both passes need: query heads that share a key head are rows of it, [B, Hkv, G Sq, …]. */
function prepare({ plan, sizes }: KernelCall, { query, key, value }: Tensors) {
  const { B, Hq, Hkv, Sq, Skv, D } = sizes;
  const rows = (Hq / Hkv) * Sq;
  const entries = plan.shape[0];
  const visible = new Float32Array(B * rows * Skv);
  for (let n = 0; n < B * rows; n++) {
    const entry = entries === 1 ? 0 : Math.floor(n / rows);
    const end = plan.spans[2 * (entry * Sq + (n % Sq)) + 1]!;
    visible.fill(1, n * Skv, n * Skv + end);
  }
  const pairs = tf.tensor4d(visible, [B, 1, rows, Skv]);
  const [ofKeys, ofQueries] = [tf.transpose(tf.max(pairs, 2, true), [0, 1, 3, 2]), tf.max(pairs, 3, true)];
  const q = shown(tf.reshape(query, [B, Hkv, rows, D]), ofQueries);
  const [k, v] = [shown(key!, ofKeys), shown(value!, ofKeys)];
  const [fq, fk] = [tf.add(tf.elu(q), 1), tf.add(tf.elu(k), 1)];
  const products = tf.mul(tf.matMul(fq, fk, false, true), pairs); // [B, Hkv, G Sq, Skv]
  const sums = tf.sum(products, 3, true);
  return { q, k, v, fq, fk, pairs, sums, weights: tf.divNoNan(products, sums) };
}

/** The rows that take part; 0 in the others, which may hold anything. */
function shown(x: tf.Tensor, rows: tf.Tensor): tf.Tensor {
  if (tf.min(rows).dataSync()[0] === 1) return x;
  return tf.where(tf.cast(rows, 'bool'), x, tf.zerosLike(x));
}

function forward(call: KernelCall, tensors: Tensors) {
  const { B, Hq, Sq, Dv, Skv } = call.sizes;
  const isEmpty = B * Sq * Skv === 0;
  const output = () => {
    const { weights, v } = prepare(call, tensors);
    return tf.reshape<tf.Rank.R4>(tf.matMul(weights, v), [B, Hq, Sq, Dv]);
  };
  return { result: { output: isEmpty ? tf.zeros<tf.Rank.R4>([B, Hq, Sq, Dv]) : output() }, saved: undefined };
}

function backward(
  call: KernelCall,
  tensors: Tensors,
  { gradient }: { readonly gradient: { readonly output: tf.Tensor } },
) {
  const { B, Hq, Hkv, Sq, Skv, Dv } = call.sizes;
  if (Skv === 0) return {};
  const { q, k, v, fq, fk, pairs, sums, weights } = prepare(call, tensors);
  const dOutput = tf.reshape(gradient.output, [B, Hkv, (Hq / Hkv) * Sq, Dv]);
  const dWeights = tf.matMul(dOutput, v, false, true);
  const mean = tf.sum(tf.mul(dWeights, weights), 3, true);
  const dProducts = tf.mul(tf.divNoNan(tf.sub(dWeights, mean), sums), pairs);
  const slope = (x: tf.Tensor) => tf.exp(tf.minimum(x, 0)); // φ'
  return {
    query: tf.mul(tf.matMul(dProducts, fk), slope(q)),
    key: tf.mul(tf.matMul(dProducts, fq, true), slope(k)),
    value: tf.matMul(weights, dOutput, true),
  };
}

/** The definition, in doubles: softmax attention whose score is log(φ(q) · φ(k)). */
export function linearOracle(inputs: OracleInputs) {
  const { B, Hq, Hkv, Sq, Skv, D } = inputs.sizes;
  const phi = (x: number) => (x > 0 ? x + 1 : Math.exp(x));
  const scores = Float64Array.from({ length: B * Hq * Sq * Skv }, (_, n) => {
    const [row, j] = [Math.floor(n / Skv), n % Skv]; // row of [B, Hq, Sq]
    const [b, h] = [Math.floor(row / (Hq * Sq)), Math.floor(row / Sq) % Hq];
    const keyRow = (b * Hkv + Math.floor((h * Hkv) / Hq)) * Skv + j;
    let sum = 0;
    for (let d = 0; d < D; d++) sum += phi(inputs.query[row * D + d]!) * phi(inputs.key[keyRow * D + d]!);
    return Math.log(sum);
  });
  const bias = { shape: [B, Hq, Sq, Skv], data: scores };
  const { output, maxAbsScore } = attentionOracle({ ...inputs, scale: 0, bias });
  return { output, maxAbsScore };
}
