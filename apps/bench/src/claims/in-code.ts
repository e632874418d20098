// What the code of lessons does with masks, dropout, layouts and results.
import {
  attend,
  causal,
  composed,
  fromSequenceMajor,
  mergeHeads,
  scaledDotProductAttention,
  setDefaultKernel,
  UnsupportedError,
  validLengths,
} from '@polyhead/core';
import { attentionStatistics, exactWeights, flash } from '@polyhead/flash';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { type Claim, difference, digits, heads, percent, rounding, tokens } from './claim';

const zeroShare = (x: tf.Tensor) => tf.mean(tf.cast(tf.equal(x, 0), 'float32')).dataSync()[0]!;

export const inCode: readonly Claim[] = [
  {
    number: 10,
    says: 'Where the mask is 0 the score becomes −∞ before softmax.',
    run() {
      const scores = tf.tensor2d([[1, 2, 3, 4]]);
      const ofAll = (low: number) => tf.softmax(tf.add(scores, low)).dataSync();
      const [infinite, finite] = [ofAll(Number.NEGATIVE_INFINITY)[0]!, ofAll(-1e9)[0]!];
      const nothing = heads([1, 1, 1, 4], 1);
      const [query, key] = [nothing, heads([1, 1, 4, 4], 2)];
      const here = attend(
        composed(),
        { query, key, value: key },
        { mask: validLengths([0]) },
      ).output.dataSync()[0]!;
      return {
        verdict: Number.isNaN(infinite) && here === 0 ? 'depends' : 'true',
        answer: `Where a row sees something. A row that sees nothing, such as one of padding, becomes ${infinite}; with −10⁹ instead it attends evenly to what it must not see, ${digits(finite, 2)} each of four keys. Here it gives ${here}.`,
      };
    },
  },
  {
    number: 11,
    says: 'Dropout works on the weights of attention.',
    within: 0.05,
    run() {
      const [query, key] = [heads([1, 4, 32, 16], 1), heads([1, 4, 32, 16], 2)];
      const inputs = { query, key, value: key };
      const onWeights = attend(composed(), inputs, { dropout: { rate: 0.5, seed: 1 } }).output;
      const onOutput = tf.dropout(attend(composed(), inputs).output, 0.5, undefined, 1);
      const [zerosOfWeights, zerosOfOutput] = [zeroShare(onWeights), zeroShare(onOutput)];
      return {
        verdict: zerosOfWeights === 0 && zerosOfOutput > 0.4 ? 'depends' : 'false',
        answer: `In the paper and here. A usual lesson says so in a comment and drops the output instead: at a rate of 0.5 that makes ${percent(zerosOfOutput)} of the output's numbers 0, dropped weights ${percent(zerosOfWeights)}.`,
      };
    },
  },
  {
    number: 13,
    says: 'The second result of an attention function is `attention_weights`.',
    run() {
      const [query, key] = [heads([2, 8, 10, 64], 1), heads([2, 8, 10, 64], 2)];
      const { output, weights } = scaledDotProductAttention(query, key, key);
      return {
        verdict: `${output.shape}` !== `${weights.shape}` ? 'depends' : 'false',
        answer: `Look at the shape: weights are (${weights.shape.join(', ')}), the output is (${output.shape.join(', ')}). Some lessons name the only result of a function \`attention_weights\`, or swap the two. Here results have names.`,
      };
    },
  },
  {
    number: 25,
    says: 'Heads are merged by flattening all axes behind the batch (as some code has it).',
    run() {
      const x = heads([1, 4, 6, 8], 1); // [B, H, S, D]
      const later = tf.add(x, tf.oneHot([5], 6).reshape([1, 1, 6, 1])) as tf.Tensor4D; // another last token
      const flat = tf.reshape(x, [1, -1]);
      const tokensChanged = (merge: (heads: tf.Tensor4D) => tf.Tensor) =>
        tf
          .sum(tf.cast(tf.greater(tf.max(tf.abs(tf.sub(merge(x), merge(later))), 2), 0), 'int32'))
          .dataSync()[0]!;
      const right = tokensChanged(mergeHeads);
      const wrong = tokensChanged((y) => tf.reshape(y, [1, 6, 32])); // fits, without a transpose
      return {
        verdict: right === 1 && wrong > 1 ? 'false' : 'true',
        answer: `Then 6 tokens of width 32 are one row of ${flat.shape[1]}, which no W_O of 32 × 32 takes. A reshape to (1, 6, 32) without a transpose fits and is wrong: another last token changes ${wrong} of 6 rows instead of ${right}.`,
      };
    },
  },
  {
    number: 33,
    says: 'Use the flash kernel where there is one, else the standard form: the numbers are the same.',
    run() {
      const attention = new MultiHeadAttention({ embedDim: 64, numHeads: 4, seed: 1 });
      const query = tokens(2, 100, 64, 1);
      const standard = attention.apply({ query }, { mask: causal() });
      setDefaultKernel(flash());
      const fused = attention.apply({ query }, { mask: causal() });
      setDefaultKernel(composed());
      attention.dispose();
      const off = difference(standard.output, fused.output);
      return {
        verdict: off < rounding && standard.kernel !== fused.kernel ? 'true' : 'false',
        answer: `\`setDefaultKernel(flash())\`, and the layer says that \`flash\` ran instead of \`${standard.kernel}\`: the same numbers to within 1e-5.`,
      };
    },
  },
  {
    number: 34,
    says: 'A flash kernel gives no weights.',
    run() {
      const [query, key] = [heads([1, 2, 20, 8], 1), heads([1, 2, 20, 8], 2)];
      const inputs = { query, key, value: key };
      let refused = false;
      try {
        attend(flash(), inputs, { returns: ['weights'] });
      } catch (error) {
        refused = error instanceof UnsupportedError;
      }
      const rows = [18, 20] as const;
      const { some } = attentionStatistics(inputs, {}, { some: exactWeights() }, { rows });
      const all = attend(composed(), inputs, { returns: ['weights'] }).weights!;
      const off = difference(some, tf.slice(all, [0, 0, 18, 0], [1, 2, 2, 20]));
      return {
        verdict: refused && off < rounding ? 'true' : 'false',
        answer: `\`returns: ['weights']\` is refused, not forgotten. Rows of them can be made again from queries, keys and log-sum-exp: 2 of 20 rows are those of the standard form, to within 1e-5.`,
      };
    },
  },
  {
    number: 35,
    says: 'A call is causal where a mask was given (as some code has it).',
    run() {
      const [query, key] = [heads([1, 2, 6, 8], 1), heads([1, 2, 6, 8], 2)];
      const inputs = { query, key, value: key };
      const padding = attend(composed(), inputs, { mask: validLengths([4]) }).output;
      const asCausal = attend(composed(), inputs, { mask: causal() }).output;
      const rows = tf.max(tf.abs(tf.sub(padding, asCausal)), 3); // [1, H, S]
      const wrong = tf.sum(tf.cast(tf.greater(rows, rounding), 'int32')).dataSync()[0]!;
      return {
        verdict: wrong > 0 ? 'false' : 'true',
        answer: `\`is_causal = mask is not None\` turns every mask into a triangle: with 2 of 6 keys padded, ${wrong} of 12 rows are wrong, by up to ${digits(difference(padding, asCausal))}.`,
      };
    },
  },
  {
    number: 36,
    says: 'Flash takes (batch, seq, heads, d), the standard form (batch, heads, seq, d).',
    run() {
      const [query, key] = [heads([1, 8, 8, 16], 1), heads([1, 8, 8, 16], 2)];
      const right = attend(composed(), { query, key, value: key }).output;
      const swap = (x: tf.Tensor4D) => tf.transpose(x, [0, 2, 1, 3]); // [B, S, H, D]
      const major = { query: swap(query), key: swap(key), value: swap(key) };
      const wrong = swap(attend(composed(), major).output); // 8 heads, 8 tokens: the shapes fit
      const adapted = fromSequenceMajor(swap(query));
      const off = difference(right, wrong as tf.Tensor4D);
      return {
        verdict: off > rounding && difference(adapted, query) === 0 ? 'depends' : 'false',
        answer: `So it is in PyTorch's world; here every kernel takes (batch, heads, seq, d), and \`fromSequenceMajor\` adapts the other. Whoever passes one for the other gets no error where shapes allow it: with 8 heads and 8 tokens the output is off by up to ${digits(off)}.`,
      };
    },
  },
  {
    number: 48,
    says: 'With a causal mask no token sees later ones, so text can be generated; cross-attention reads the source.',
    run() {
      const attention = new MultiHeadAttention({ embedDim: 32, numHeads: 4, seed: 1 });
      const [query, source] = [tokens(1, 8, 32, 1), tokens(1, 5, 32, 2)];
      const changed = tf.concat([tf.slice(query, [0, 0, 0], [1, 5, 32]), tokens(1, 3, 32, 3)], 1); // tokens 6 to 8 are others
      const changes = (mask?: ReturnType<typeof causal>) => {
        const [one, other] = [query, changed].map((x) =>
          tf.slice(attention.apply({ query: x }, { mask }).output, [0, 0, 0], [1, 5, 32]),
        );
        return difference(one!, other!);
      };
      const [masked, open] = [changes(causal()), changes()];
      const read = difference(
        attention.apply({ query, key: source }).output,
        attention.apply({ query, key: tf.neg(source) }).output,
      );
      attention.dispose();
      return {
        verdict: masked === 0 && open > 0 && read > 0 ? 'true' : 'false',
        answer: `With other tokens from the sixth on, outputs of the first five change by ${masked} under \`causal()\`, by up to ${digits(open)} without it. A source, read by cross-attention, changes the output of all tokens, by up to ${digits(read)}.`,
      };
    },
  },
];
