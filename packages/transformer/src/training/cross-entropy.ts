// The loss of next tokens: mean over positions of log sum exp(logits) - logits[target].
import { ConfigError, ShapeError } from '@polyhead/core';
import { checkTensor } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';

/** The target of a position that does not count. */
export const ignored = -100;

/**
 * What each position is to say: the token after it. The last says nothing.
 *
 * @param ids [B][S]
 * @param options `from` [B]: the first token of each entry that is to be learned, so that a prompt is not; `lengths` [B]: tokens
 *   that count where entries are padded at the right. Default: all
 * @returns [B][S], `ignored` where nothing is to be learned
 * @example
 * const loss = crossEntropy(model.apply(ids).logits, nextTokens(rows));
 */
export function nextTokens(
  ids: readonly (readonly number[])[],
  { from, lengths }: { readonly from?: readonly number[]; readonly lengths?: readonly number[] } = {},
): readonly (readonly number[])[] {
  return ids.map((row, b) =>
    row.map((_, s) => {
      const next = s + 1;
      return next < (lengths?.[b] ?? row.length) && next >= (from?.[b] ?? 0) ? row[next]! : ignored;
    }),
  );
}

/**
 * Mean cross-entropy in nats. Positions whose target is `ignored` have no influence, not even NaN.
 *
 * @param logits [B, S, V]
 * @param targets [B][S], tokens or `ignored`, on the host: no call has to wait for them
 * @returns a scalar, with a gradient
 * @throws ShapeError, ConfigError where they do not fit, and where no position counts
 */
export function crossEntropy(logits: tf.Tensor, targets: readonly (readonly number[])[]): tf.Scalar {
  checkTensor('crossEntropy', 'logits', logits, ['[B, S, V]']);
  const [B, S, V] = logits.shape as [number, number, number];
  const all = checkTargets(targets, [B, S, V]);
  const rows = [...all.keys()].filter((row) => all[row] !== ignored);
  if (rows.length === 0)
    throw new ConfigError('crossEntropy', 'at least one position must count', { targets: all });
  const isWhole = rows.length === all.length;
  const loss = tf.customGrad((x, save) => {
    const keep = save as (tensors: tf.Tensor[]) => void;
    const flat = tf.reshape(x as tf.Tensor, [B * S, V]);
    const counted = isWhole ? flat : tf.gather(flat, tf.tensor1d(rows, 'int32')); // [N, V]
    const isTarget = tf.cast(
      tf.oneHot(
        tf.tensor1d(
          rows.map((row) => all[row]!),
          'int32',
        ),
        V,
      ),
      'float32',
    );
    const shifted = tf.sub(counted, tf.max(counted, 1, true));
    const weights = tf.exp(shifted);
    const sums = tf.sum(weights, 1, true); // [N, 1]
    const losses = tf.sub(tf.log(sums), tf.sum(tf.mul(shifted, isTarget), 1, true));
    keep([tf.sub(tf.div(weights, sums), isTarget)]);
    const gradFunc = (gradient: tf.Tensor, [difference]: tf.Tensor[]) => {
      const slopes = tf.mul(difference!, tf.div(gradient, rows.length)); // [N, V]
      return tf.reshape(isWhole ? slopes : withZeroRows(slopes, rows, B * S), [B, S, V]);
    };
    return { value: tf.mean(losses), gradFunc: gradFunc as never };
  });
  return loss(logits) as tf.Scalar;
}

/** Rows at their places among others that are zero, by a gather: its own gradient is not needed, and no scatter is. */
function withZeroRows(x: tf.Tensor, rows: readonly number[], total: number): tf.Tensor {
  const index = new Int32Array(total).fill(rows.length);
  rows.forEach((row, n) => {
    index[row] = n;
  });
  return tf.gather(tf.concat([x, tf.zeros([1, x.shape[1]!])], 0), tf.tensor1d(index, 'int32'));
}

function checkTargets(
  targets: readonly (readonly number[])[],
  [B, S, V]: readonly [number, number, number],
): readonly number[] {
  const fits = Array.isArray(targets) && targets.length === B && targets.every((row) => row.length === S);
  if (!fits)
    throw new ShapeError('crossEntropy', 'targets must have a token for each position: [B][S]', {
      targets,
      B,
      S,
    });
  const all = targets.flat();
  const wrong = all.find((t) => t !== ignored && !(Number.isInteger(t) && t >= 0 && t < V));
  if (wrong === undefined) return all;
  throw new ShapeError(
    'crossEntropy',
    `targets must be tokens, or ${ignored} where a position does not count`,
    {
      target: wrong,
      vocabulary: V,
    },
  );
}
