// Why products are divided by the root of the size of a head.
import { attend, composed } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs';
import { type Claim, digits, heads, meanOf, percent } from './claim';

const S = 64;

/** Of random queries and keys, [1, 4, 64, d], as they are when a model starts. */
function measure(d: number, scale: number) {
  const [query, key, value] = [1, 2, 3].map((seed) => heads([1, 4, S, d], seed)) as [
    tf.Tensor4D,
    tf.Tensor4D,
    tf.Tensor4D,
  ];
  const scores = tf.mul(tf.matMul(query, key, false, true), scale);
  const { weights } = attend(composed(), { query, key, value }, { scale, returns: ['weights'] });
  const target = heads([1, 4, S, d], 4);
  const lossOfQuery = (q: tf.Tensor) =>
    tf.sum(tf.mul(attend(composed(), { query: q, key, value }, { scale }).output, target)) as tf.Scalar;
  const gradient = tf.grad(lossOfQuery)(query);
  const throughSoftmax = tf.grad((x) => tf.sum(tf.mul(tf.matMul(tf.softmax(x), value), target)))(scores);
  const perRow = tf
    .sqrt(tf.sum(tf.square(throughSoftmax), 3))
    .dataSync()
    .slice()
    .sort();
  const entropy = tf.neg(tf.sum(tf.mul(weights!, tf.log(tf.maximum(weights!, 1e-30))), 3));
  return {
    variance: tf.moments(scores).variance.dataSync()[0]!,
    top: meanOf(tf.max(weights!, 3)),
    entropy: meanOf(entropy),
    gradient: (tf.norm(gradient) as tf.Scalar).dataSync()[0]!,
    /** The norm of a row's gradient by its scores, in the median row. */
    medianRow: perRow[perRow.length >> 1]!,
    stuck: perRow.filter((x) => x < perRow.at(-1)! / 100).length / perRow.length,
  };
}

export const scaling: readonly Claim[] = [
  {
    number: 21,
    says: 'Without 1 / √d scores grow with the size of a head, and gradients suffer.',
    run() {
      const [small, large] = [16, 1024].map((d) => ({
        without: measure(d, 1),
        scaled: measure(d, d ** -0.5),
      }));
      const growth = large!.without.gradient / large!.scaled.gradient;
      return {
        verdict:
          large!.without.variance > 20 * small!.without.variance && large!.scaled.variance < 2
            ? 'true'
            : 'false',
        answer: `The variance of scores is ${digits(small!.without.variance)} at d = 16 and ${digits(large!.without.variance)} at d = 1,024; scaled it is ${digits(small!.scaled.variance)} and ${digits(large!.scaled.variance)}. At d = 1,024 the largest of 64 weights is ${digits(large!.without.top)} on average, scaled ${digits(large!.scaled.top)}, and the gradient of the queries ${digits(growth)} × as large.`,
      };
    },
  },
  {
    number: 22,
    says: 'The scale stabilises gradients: without it they become very large.',
    run() {
      const [without, scaled] = [measure(1024, 1), measure(1024, 1 / 32)];
      return {
        verdict: without.gradient > scaled.gradient && without.stuck > 0.1 ? 'depends' : 'false',
        answer: `Both happen. At d = 1,024 without it the gradient of all queries is ${digits(without.gradient / scaled.gradient)} × as large, but in ${percent(without.stuck)} of the rows softmax is so sure of one key that the gradient of its scores is less than a hundredth of the largest row's; scaled in ${percent(scaled.stuck)}.`,
      };
    },
  },
  {
    number: 23,
    says: 'Scores are divided by the root of the embedding size (as some code has it).',
    run() {
      const [d, E] = [64, 512];
      const [right, wrong] = [measure(d, d ** -0.5), measure(d, E ** -0.5)];
      return {
        verdict: Math.abs(wrong.variance - 1) < 0.3 ? 'true' : 'false',
        answer: `Wrong unless a head is as wide as the model. With 8 heads of 64 in width 512, scores then have variance ${digits(wrong.variance)} instead of ${digits(right.variance)}, and weights are nearly even: entropy ${digits(wrong.entropy)} nats instead of ${digits(right.entropy)}, of ${digits(Math.log(S))} at most.`,
      };
    },
  },
];
