// What a layer with heads computes, taken apart and put together again.
import {
  attend,
  composed,
  mergeHeads,
  scaledDotProductAttention,
  splitHeads,
  validLengths,
} from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { type Claim, difference, digits, heads, meanOf, rounding, tokens, whole } from './claim';

const [B, S, E, H] = [2, 6, 32, 4];
const D = E / H;
const layer = () => new MultiHeadAttention({ embedDim: E, numHeads: H, seed: 1 });

/** The columns of head h of a matrix [in, H · D]. */
const columns = (matrix: tf.Tensor, h: number, size = D) =>
  tf.slice(matrix as tf.Tensor2D, [0, h * size], [-1, size]);

/** [B, S, E] times [E, out] */
const times = (x: tf.Tensor3D, matrix: tf.Tensor) =>
  tf.reshape(tf.matMul(tf.reshape(x, [-1, x.shape[2]]), matrix as tf.Tensor2D), [
    x.shape[0],
    x.shape[1],
    -1,
  ]) as tf.Tensor3D;

export const oneLayer: readonly Claim[] = [
  {
    number: 2,
    says: 'Heads work in parallel, and none sees another.',
    run() {
      const attention = layer();
      const query = tokens(B, S, E, 2);
      const { output, headOutputs } = attention.apply({ query }, { returns: ['headOutputs'] });
      const weights = attention.getWeights();
      const parts = tf
        .unstack(headOutputs!, 1)
        .map((head, h) =>
          times(head as tf.Tensor3D, tf.slice(weights['output/kernel'] as tf.Tensor2D, [h * D, 0], [D, E])),
        );
      const apart = difference(output, tf.addN(parts));
      const third = tf.oneHot(tf.fill([E], 2, 'int32'), H); // [E, H], one in the column of head 3
      const isThird = tf.cast(tf.reshape(tf.tile(tf.expandDims(third, 2), [1, 1, D]), [E, E]), 'float32');
      attention.setWeights({ ...weights, 'query/kernel': tf.add(weights['query/kernel']!, isThird) });
      const changed = attention.apply({ query }, { returns: ['headOutputs'] }).headOutputs!;
      const changes = tf
        .unstack(headOutputs!, 1)
        .map((head, h) => difference(head, tf.unstack(changed, 1)[h]!));
      attention.dispose();
      const others = Math.max(...changes.filter((_, h) => h !== 2));
      return {
        verdict: apart < rounding && others === 0 && changes[2]! > 0 ? 'true' : 'false',
        answer: `The output is the sum of what each head adds through its own rows of W_O, to within 1e-5. With other query weights in head 3 that head's output changes by up to ${digits(changes[2]!)}, those of the others by ${others}.`,
      };
    },
  },
  {
    number: 3,
    says: 'One large projection and a reshape equal h small projections.',
    run() {
      const x = tokens(B, S, E, 1);
      const matrix = tf.randomNormal([E, E], 0, 1, 'float32', 2);
      const fused = splitHeads(times(x, matrix), H); // [B, H, S, D]
      const small = tf.stack(
        Array.from({ length: H }, (_, h) => times(x, columns(matrix, h))),
        1,
      );
      return {
        verdict: difference(fused, small) < 10 * rounding ? 'true' : 'false',
        answer: `One [32, 32] matrix split into 4 heads, and four [32, 8] matrices: equal to within 1e-4 of numbers around ${digits(meanOf(tf.abs(small)))}, and as many products, ${whole(B * S * E * E)} of them.`,
      };
    },
  },
  {
    number: 5,
    says: 'The size of a head times the number of heads must be the width of the model.',
    run() {
      const attention = new MultiHeadAttention({ embedDim: 48, numHeads: 5, headDim: 7, seed: 1 });
      const { output } = attention.apply({ query: tokens(2, 4, 48, 1) });
      const parameters = attention.variables.reduce((sum, { variable }) => sum + variable.size, 0);
      attention.dispose();
      return {
        verdict: `${output.shape}` === '2,4,48' ? 'false' : 'true',
        answer: `A convention. Width 48 with 5 heads of 7, 35 together, gives ${output.shape.join(' × ')} with ${whole(parameters)} parameters; Gemma 2 9B has 16 heads of 256, 4,096 together, in a width of 3,584.`,
      };
    },
  },
  {
    number: 6,
    says: 'Heads folded into the batch axis equal heads on an axis of their own.',
    run() {
      const [query, key, value] = [1, 2, 3].map((seed) => heads([B, H, S, D], seed)) as [
        tf.Tensor4D,
        tf.Tensor4D,
        tf.Tensor4D,
      ];
      const apart = attend(composed(), { query, key, value }).output;
      const fold = (x: tf.Tensor4D) => tf.reshape(x, [B * H, 1, S, D]);
      const folded = attend(composed(), { query: fold(query), key: fold(key), value: fold(value) }).output;
      const off = difference(apart, tf.reshape(folded, apart.shape));
      return {
        verdict: off < rounding ? 'true' : 'false',
        answer: `[2, 4, 6, 8] and [8, 1, 6, 8] give the same numbers, to within 1e-5.`,
      };
    },
  },
  {
    number: 7,
    says: 'With heads in the batch axis the valid lengths are repeated for each head, batch entry by batch entry.',
    run() {
      const lengths = [3, 2];
      const h = 5;
      const [query, key] = [heads([2, h, 4, 8], 1), heads([2, h, 6, 8], 2)];
      const apart = attend(composed(), { query, key, value: key }, { mask: validLengths(lengths) }).output;
      const folded = (mask: number[]) => {
        const fold = (x: tf.Tensor4D) => tf.reshape(x, [-1, 1, x.shape[2], x.shape[3]]) as tf.Tensor4D;
        const inputs = { query: fold(query), key: fold(key), value: fold(key) };
        return tf.reshape(attend(composed(), inputs, { mask: validLengths(mask) }).output, apart.shape);
      };
      const repeated = lengths.flatMap((length) => Array<number>(h).fill(length)); // 3 3 3 3 3 2 2 2 2 2
      const tiled = Array.from({ length: 2 * h }, (_, n) => lengths[n % 2]!); // 3 2 3 2 …
      const [right, wrong] = [difference(apart, folded(repeated)), difference(apart, folded(tiled))];
      return {
        verdict: right < rounding && wrong > rounding ? 'true' : 'false',
        answer: `3 3 3 3 3 2 2 2 2 2 gives what 5 heads on an axis of their own give, to within 1e-5; 3 2 3 2 … runs as well, and is off by up to ${digits(wrong)}.`,
      };
    },
  },
  {
    number: 8,
    says: '2 sequences of 4 queries and 6 keys, 100 hidden units and 5 heads give an output of (2, 4, 100).',
    run() {
      const attention = new MultiHeadAttention({ embedDim: 100, numHeads: 5, seed: 1 });
      const inputs = { query: tokens(2, 4, 100, 1), key: tokens(2, 6, 100, 2) };
      const { output, headOutputs } = attention.apply(inputs, {
        mask: validLengths([3, 2]),
        returns: ['headOutputs'],
      });
      attention.dispose();
      return {
        verdict: `${output.shape}` === '2,4,100' ? 'true' : 'false',
        answer: `The output is (${output.shape.join(', ')}); its heads, before they are merged, (${headOutputs!.shape.join(', ')}).`,
      };
    },
  },
  {
    number: 9,
    says: 'Heads of (2, 8, 10, 64) give weights of (2, 8, 10, 10), whose rows sum to 1.',
    run() {
      const [query, key] = [heads([2, 8, 10, 64], 1), heads([2, 8, 10, 64], 2)];
      const { weights } = scaledDotProductAttention(query, key, key);
      const rows = tf.sum(weights, 3);
      const hidden = scaledDotProductAttention(query, key, key, { mask: validLengths([10, 0]) }).weights;
      const sink = scaledDotProductAttention(query, key, key, { sinkLogits: tf.zeros([8]) }).weights;
      const [whole, none, part] = [
        difference(rows, tf.onesLike(rows)),
        tf.sum(tf.slice(hidden, [1], [1])).dataSync()[0]!,
        meanOf(tf.sum(sink, 3)),
      ];
      return {
        verdict: whole < rounding && none === 0 && part < 1 ? 'depends' : 'false',
        answer: `(${weights.shape.join(', ')}), and 1, to within 1e-5. But rows that see no key sum to ${none}, and with a sink, as gpt-oss has, they sum to ${digits(part)} on average.`,
      };
    },
  },
  {
    number: 41,
    says: 'Attention weighs words, or pixels, regardless of where they stand.',
    run() {
      const attention = layer();
      const query = tokens(1, S, E, 1);
      const order = tf.tensor1d([3, 0, 5, 1, 4, 2], 'int32');
      const before = tf.gather(attention.apply({ query }).output, order, 1);
      const after = attention.apply({ query: tf.gather(query, order, 1) }).output;
      attention.dispose();
      const off = difference(before, after);
      return {
        verdict: off < rounding ? 'true' : 'false',
        answer: `Without positions 6 tokens in another order give the same 6 outputs in that order, to within 1e-5: order must be told, by a position method or a mask.`,
      };
    },
  },
  {
    number: 42,
    says: 'Self-attention takes queries, keys and values from one sequence; multi-head attention is several of these.',
    run() {
      const attention = layer();
      const x = tokens(B, S, E, 1);
      const self = attention.apply({ query: x }).output;
      const spelt = attention.apply({ query: x, key: x, value: x }).output;
      const other = attention.apply({ query: x, key: tokens(B, 9, E, 2) }).output;
      attention.dispose();
      const single = new MultiHeadAttention({ embedDim: E, numHeads: 1, seed: 1 });
      const weights = single.getWeights();
      const [q, k, v] = ['query', 'key', 'value'].map((name) => times(x, weights[`${name}/kernel`]!)) as [
        tf.Tensor3D,
        tf.Tensor3D,
        tf.Tensor3D,
      ];
      const byHand = times(scaledDotProductAttention(q, k, v).output, weights['output/kernel']!);
      const off = Math.max(difference(self, spelt), difference(single.apply({ query: x }).output, byHand));
      single.dispose();
      return {
        verdict: off < rounding && `${other.shape}` === `${self.shape}` ? 'depends' : 'false',
        answer: `Two questions in one: where keys come from, and how many heads there are. One sequence, given once or three times, gives the same; one head is multi-head attention with h = 1; and 4 heads read another sequence of 9 tokens as well: cross-attention is multi-head, too.`,
      };
    },
  },
  {
    number: 49,
    says: 'Token by token, outputs of heads are concatenated, then projected.',
    run() {
      const attention = layer();
      const query = tokens(B, S, E, 1);
      const { output, headOutputs } = attention.apply({ query }, { returns: ['headOutputs'] });
      const merged = mergeHeads(headOutputs!); // [B, S, H · D]
      const off = difference(output, times(merged, attention.getWeights()['output/kernel']!));
      const second = tf.slice(merged, [0, 2, D], [1, 1, D]); // token 3, head 2
      const same = difference(
        tf.reshape(second, [D]),
        tf.reshape(tf.slice(headOutputs!, [0, 1, 2, 0], [1, 1, 1, D]), [D]),
      );
      attention.dispose();
      return {
        verdict: off < rounding && same === 0 ? 'true' : 'false',
        answer: `Numbers ${D + 1} to ${2 * D} of a token, before W_O, are those of head 2; times W_O they are the output, to within 1e-5.`,
      };
    },
  },
];
