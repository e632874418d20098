// Attention over all keys from attention over parts of them: log-sum-exps say how much of each row a part holds.
//
//   logSumExp = log Σ exp(logSumExp_n)        output = Σ exp(logSumExp_n - logSumExp) · output_n
import { ConfigError, ShapeError } from '@polyhead/core';
import { addAll, checkTensor, cleanTidy, differentiable } from '@polyhead/core/kernel';
import * as tf from '@tensorflow/tfjs-core';

/** What attention over some of the keys gives. A sink belongs to one of the parts. */
export interface PartialAttention {
  /** [B, Hq, Sq, Dv] */
  readonly output: tf.Tensor4D;
  /** [B, Hq, Sq], -Infinity for rows that see none of the part's keys. */
  readonly logSumExp: tf.Tensor3D;
}

/**
 * Attention over the keys of all parts: keys that were split, or a prefix that several sequences share (Dao 2023,
 * 2307.08691). Differentiable, and it does not matter in which order parts are merged. Runs on every backend.
 *
 * @param parts of the same queries, over keys that no two of them share
 * @example
 * const returns = ['logSumExp'] as const;
 * const merged = mergeAttention([
 *   attend(kernel, { query, key: oldKeys, value: oldValues }, { returns }),
 *   attend(kernel, { query, key: newKeys, value: newValues }, { mask: causal(), returns }),
 * ]);
 * @returns output [B, Hq, Sq, Dv] and log-sum-exp [B, Hq, Sq]: those of attention over the keys of all parts
 * @throws ConfigError without a part
 * @throws ShapeError for parts of other sizes
 * @throws UnsupportedError inside a gradient of a gradient
 */
export function mergeAttention(
  parts: readonly { readonly output: tf.Tensor; readonly logSumExp?: tf.Tensor | undefined }[],
): PartialAttention {
  checkParts(parts);
  return cleanTidy(() => {
    const count = parts.length;
    const Dv = parts[0]!.output.shape[3]!;
    const inputs = parts.flatMap(({ output, logSumExp }) => [output, logSumExp!]);
    const packed = differentiable(
      { inputs },
      (tensors) => {
        const { output, logSumExp } = merge(tensors, count);
        return tf.concat([output, logSumExp], 3);
      },
      (gradient, tensors) => {
        const { weights, outputs, output } = merge(tensors, count);
        const [dOutput, dLogSumExp] = tf.split(gradient, [Dv, 1], 3) as [tf.Tensor4D, tf.Tensor4D];
        return outputs.flatMap((part, n) => {
          const moved = tf.sum(tf.mul(dOutput, tf.sub(part, output)), 3, true); // towards this part
          const ofPart = tf.mul(weights[n]!, tf.add(moved, dLogSumExp)); // [B, Hq, Sq, 1]
          return [tf.mul(dOutput, weights[n]!), tf.squeeze(ofPart, [3])];
        });
      },
    );
    const [output, logSumExp] = tf.split(packed, [Dv, 1], 3) as [tf.Tensor4D, tf.Tensor4D];
    return { output, logSumExp: tf.squeeze(logSumExp, [3]) as tf.Tensor3D };
  });
}

/** @param tensors output and log-sum-exp of each part in turn */
function merge(tensors: readonly tf.Tensor[], count: number) {
  const outputs = tensors.filter((_, n) => n % 2 === 0) as tf.Tensor4D[];
  const logSumExps = tf.stack(
    tensors.filter((_, n) => n % 2 === 1),
    3,
  ) as tf.Tensor4D; // [B, Hq, Sq, count]
  // 1 for rows that see something in some part: the largest of -Infinity is a finite number on WebGL.
  const seen = tf.max(tf.cast(tf.notEqual(logSumExps, -Infinity), 'float32'), 3, true);
  const largest = tf.max(logSumExps, 3, true);
  const rowMax = tf.where(tf.greater(seen, 0), largest, tf.zerosLike(largest));
  const shares = tf.exp(tf.sub(logSumExps, rowMax));
  const divisor = tf.add(tf.sum(shares, 3, true), tf.sub(1, seen)); // [B, Hq, Sq, 1]
  const weights = tf.split(tf.div(shares, divisor), count, 3) as tf.Tensor4D[];
  const weighted = outputs.map((output, n) => tf.mul<tf.Tensor4D>(output, weights[n]!));
  const sums = tf.add<tf.Tensor4D>(rowMax, tf.log(divisor));
  const unseen: tf.Tensor4D = tf.fill(sums.shape, -Infinity);
  const logSumExp = tf.where(tf.greater(seen, 0), sums, unseen); // [B, Hq, Sq, 1]
  return { weights, outputs, output: addAll(weighted), logSumExp };
}

function checkParts(parts: Parameters<typeof mergeAttention>[0]): void {
  if (!Array.isArray(parts) || parts.length === 0) {
    throw new ConfigError('mergeAttention', 'parts must be a list of at least one part', { parts });
  }
  parts.forEach((part: unknown, n) => {
    const { output, logSumExp } = (part ?? {}) as Partial<PartialAttention>;
    const facts = { output, logSumExp, 'output of part 0': parts[0]?.output };
    checkTensor('mergeAttention', `output of part ${n}`, output, ['[B, Hq, Sq, Dv]', facts]);
    checkTensor('mergeAttention', `logSumExp of part ${n}`, logSumExp, ['[B, Hq, Sq]', facts]);
    const fits = `${logSumExp.shape}` === `${output.shape.slice(0, 3)}`;
    if (fits && `${output.shape}` === `${parts[0]!.output.shape}`) return;
    throw new ShapeError('mergeAttention', 'all parts must have the same sizes', facts);
  });
}
