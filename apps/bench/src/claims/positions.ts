// Where tokens stand: what tables hold, which way distances count, and stacks of many layers.
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { GrowingCache } from '@polyhead/kv-cache';
import { RelativePositionAttention, rotary } from '@polyhead/relative-position';
import { Decoder, ModelCache } from '@polyhead/transformer';
import { crossEntropy, gradientsOf, nextTokens } from '@polyhead/transformer/training';
import * as tf from '@tensorflow/tfjs';
import { type Claim, difference, digits, percent, tokens, whole } from './claim';

/** A layer whose queries all equal `u`, whose keys are zero but for the table, in which only `row` equals `u`: it looks there. */
function looksBy(row: number): number[][] {
  const [E, k] = [8, 2];
  const attention = new RelativePositionAttention({
    embedDim: E,
    numHeads: 1,
    maxRelativePosition: k,
    seed: 1,
  });
  const weights = attention.getWeights();
  const table = tf.mul(tf.reshape(tf.oneHot([row], 2 * k + 1), [2 * k + 1, 1]), tf.fill([1, E], 9));
  attention.setWeights({
    ...weights,
    'query/kernel': tf.eye(E),
    'key/kernel': tf.zeros([E, E]),
    'position/keys': table,
  });
  const { weights: seen } = attention.apply({ query: tf.ones([1, 5, E]) }, { returns: ['weights'] });
  attention.dispose();
  return (seen!.arraySync() as number[][][][])[0]![0]!;
}

export const positions: readonly Claim[] = [
  {
    number: 26,
    says: 'Absolute positions are standard; relative ones relate pairs, clipped at ± k, with 2k + 1 rows.',
    run() {
      const k = 128;
      const attention = new RelativePositionAttention({
        embedDim: 8,
        numHeads: 1,
        maxRelativePosition: k,
        seed: 1,
      });
      const rows = attention.getWeights()['position/keys']!.shape[0];
      const x = tf.tile(tokens(1, 1, 8, 1), [1, 400, 1]) as tf.Tensor3D; // one token 400 times: only distance differs
      const { weights } = attention.apply({ query: x }, { returns: ['weights'] });
      const at = (key: number) => tf.slice(weights!, [0, 0, 0, key], [1, 1, 1, 1]);
      const [far, near] = [difference(at(200), at(300)), difference(at(20), at(30))];
      attention.dispose();
      return {
        verdict: rows === 2 * k + 1 && far === 0 && near > 0 ? 'depends' : 'false',
        answer: `Shaw's table for k = 128 has ${rows} rows, and distances 200 and 300 have the same weight to the bit, 20 and 30 do not. Absolute positions were standard: BERT and GPT-2 have them; Llama, Mistral, Qwen and Gemma turn queries and keys, T5 and BLOOM add to scores. What each does beyond the trained length is in [positions and length](positions-and-length.md).`,
      };
    },
  },
  {
    number: 27,
    says: 'The distance of a pair is key − query (or query − key).',
    run() {
      const [later, earlier] = [looksBy(2 + 1), looksBy(2 - 1)];
      const [next, previous] = [later[2]![3]!, earlier[2]![1]!];
      return {
        verdict: Math.min(next, previous) > 0.9 ? 'depends' : 'false',
        answer: `Lessons have both, which swaps the rows of the table left and right of its middle. Here it is key − query: with k = 2, a table with row 3 alone filled makes a token look at the next one (${digits(next)}), with row 1 alone at the one before (${digits(previous)}).`,
      };
    },
  },
  {
    number: 38,
    says: 'The same design scales from 6 layers to 96 and more.',
    async run() {
      const [numLayers, embedDim] = [96, 16];
      const position = rotary({ headDim: 8 });
      const model = new Decoder(
        {
          vocabularySize: 20,
          embedDim,
          numLayers,
          norm: { kind: 'rms' },
          feedForward: { hiddenDim: 16, activation: 'silu' },
          seed: 1,
        },
        {
          attention: (parts) =>
            new GroupedQueryAttention(
              { embedDim, numHeads: 2, numKeyValueHeads: 1, seed: 1 },
              { ...parts, position },
            ),
        },
      );
      const row = [3, 1, 4];
      const idsOf = (ids: readonly number[]) => tf.tensor2d([[...ids]], undefined, 'int32');
      const atOnce = model.apply(idsOf(row)).logits;
      const cache = new ModelCache(model.cacheShapes(1), (shape) => new GrowingCache(shape));
      const stepwise = tf.concat(
        row.map((id) => model.apply(idsOf([id]), { cache }).logits),
        1,
      );
      const { gradients } = gradientsOf(
        () => crossEntropy(model.apply(idsOf(row)).logits, nextTokens([row])),
        model.variables,
      );
      const norms = Object.values(gradients).map(
        (gradient) => (tf.norm(gradient) as tf.Scalar).dataSync()[0]!,
      );
      const finite =
        norms.filter((norm) => Number.isFinite(norm) && norm > 0).length / model.variables.length;
      const off = difference(atOnce, stepwise);
      cache.dispose();
      model.dispose();
      return {
        verdict: off < 1e-3 && finite === 1 ? 'true' : 'false',
        answer: `96 blocks of width 16: three tokens one by one, from ${numLayers} caches, have the logits of one pass to within 1e-3, and ${percent(finite)} of ${whole(norms.length)} variables have a gradient that is finite and not 0.`,
      };
    },
  },
];
