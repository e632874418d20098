// What maps of trained heads show: patterns, labelled pairs, distance, and where weights mislead.
import { type HeadStatistics, headStatistics } from '@polyhead/inspect';
import * as tf from '@tensorflow/tfjs';
import { encoderReader } from '../attention/encoder-reader';
import { headName } from '../heads/head-name';
import { measureMeaning } from '../heads/labelled-pairs';
import { type Claim, decide, digits, meanOf, percent } from './claim';
import {
  decoderHeads,
  encoderHeads,
  heldOutRows,
  mean,
  sentencesOf,
  withDecoder,
  withEncoder,
} from './trained-models';

const silent = { stage() {}, advance() {}, clear() {} };

export const headMaps: readonly Claim[] = [
  {
    number: 14,
    says: 'Maps have patterns: a diagonal, a vertical stripe for an important token, a horizontal one, blocks for phrases.',
    run: () =>
      withEncoder(async (encoder) => {
        const ofEncoder: HeadStatistics[] = [];
        for (const ids of sentencesOf(encoder, 12))
          ofEncoder.push(...(await encoderHeads(encoder, ids)).flatMap((heads) => headStatistics(heads)));
        const rows = heldOutRows(4, 64);
        const maps = await withDecoder((decoder) => rows.map((row) => decoderHeads(decoder, row)));
        const ofDecoder = maps.flatMap((layers) => layers.flatMap((heads) => headStatistics(heads)));
        const named = (all: readonly HeadStatistics[]) => {
          const share = (...names: string[]) =>
            percent(all.filter(({ pattern }) => names.includes(pattern)).length / all.length);
          return `${share('diagonal')} diagonal, ${share('vertical')} vertical, ${share('horizontal')} horizontal, ${share('block')} block, ${share('local', 'long-range')} near or far, ${share('mixed')} none of these`;
        };
        const isNamed = [...ofEncoder, ...ofDecoder].some(({ pattern }) => pattern !== 'mixed');
        return {
          verdict: isNamed ? 'depends' : 'false',
          answer: `Some heads do. ${ofEncoder.length} maps of a sentence encoder: ${named(ofEncoder)}. ${ofDecoder.length} maps of a decoder of bytes: ${named(ofDecoder)}.`,
        };
      }),
  },
  {
    number: 15,
    says: 'Heads specialise: in syntax, in meaning, in relative clauses, in what a pronoun stands for.',
    run: () =>
      withEncoder(async (encoder) => {
        const reader = encoderReader(encoder);
        const { kinds, meanings } = await measureMeaning(reader, silent);
        const findings = kinds.map(({ kind, shares, best, chance, place, means }) => {
          const name = headName(best, reader.headsPerLayer);
          const numbers = `${percent(shares[best]!)} by ${name}, ${percent(chance)} by chance, ${percent(place.share)} at a fixed place`;
          return `${kind}, ${numbers}: ${means[best] ? 'means something' : 'means nothing'}`;
        });
        const meaning = kinds.filter(({ means }) => means.includes(true)).length;
        const nothing = meanings.filter((all) => all.length === 0).length;
        return {
          verdict: decide({ true: meaning === kinds.length && nothing === 0, depends: meaning > 0 }),
          answer: `Some do, in some of it. ${kinds.reduce((sum, { pairs }) => sum + pairs, 0)} labelled pairs of words, and a small encoder with ${meanings.length} heads: the share of words that the best head finds, looking more at the right one than at any other: ${findings.join('; ')}. ${nothing} heads do nothing that is measured here. [What heads learn](what-heads-learn.md) has the numbers of a larger model.`,
        };
      }),
  },
  {
    number: 16,
    says: 'At least one head looks far.',
    run: () =>
      withEncoder(async (encoder) => {
        const S = 128;
        const decoded = await withDecoder((decoder) =>
          heldOutRows(2, S).map((row) =>
            decoderHeads(decoder, row).flatMap((heads) => headStatistics(heads)),
          ),
        );
        const sentences = sentencesOf(encoder, 12);
        const encoded: HeadStatistics[][] = [];
        for (const ids of sentences)
          encoded.push((await encoderHeads(encoder, ids)).flatMap((heads) => headStatistics(heads)));
        const farthest = (rows: readonly (readonly HeadStatistics[])[]) =>
          Math.max(...rows[0]!.map((_, h) => mean(rows.map((heads) => heads[h]!.distance))));
        const [far, wide] = [farthest(decoded), farthest(encoded)];
        const length = mean(sentences.map((ids) => ids.length));
        // What a head has that looks evenly: causal rows see i keys before them, others (S² - 1) / 3S away on average.
        const [even, evenWide] = [(S - 1) / 4, (length - 1 / length) / 3];
        return {
          verdict: far > even && wide > evenWide ? 'true' : 'depends', // sinks of larger models look far
          answer: `Farther than a head that looks everywhere alike? In a sentence encoder the farthest of 8 heads looks ${digits(wide, 2)} tokens away on average, an even one ${digits(evenWide, 2)}; in a decoder of bytes the farthest of 16 ${digits(far, 2)} of 128 bytes, an even one ${digits(even, 2)}: none does. In larger models [heads that rest on the first token](what-heads-learn.md#do-heads-of-a-larger-model-mean-something) do, and fetch little there.`,
        };
      }),
  },
  {
    number: 46,
    says: 'It is hard to know why a model decides as it does.',
    run: () =>
      withEncoder(async (encoder) => {
        const differs: number[] = [];
        for (const ids of sentencesOf(encoder, 6)) {
          const records = await encoder.record([ids]);
          const layer = encoder.layers[1]!;
          const { input, weights } = records[1]!;
          const own = layer.getWeights();
          const values = tf.add(
            tf.matMul(tf.squeeze<tf.Tensor2D>(input, [0]), own['value/kernel'] as tf.Tensor2D),
            own['value/bias']!,
          );
          for (let h = 0; h < 4; h++) {
            const added = tf.matMul(
              tf.slice(values as tf.Tensor2D, [0, 128 * h], [-1, 128]),
              tf.slice(own['output/kernel'] as tf.Tensor2D, [128 * h, 0], [128, -1]),
            );
            const sizes = tf.norm(added, 'euclidean', 1); // [S]: of what a token adds where it is looked at
            const seen = tf.squeeze<tf.Tensor2D>(tf.slice(weights, [0, h, 0, 0], [1, 1, -1, -1]), [0, 1]);
            const isOther = tf.notEqual(tf.argMax(seen, 1), tf.argMax(tf.mul(seen, sizes), 1));
            differs.push(meanOf(tf.cast(isOther, 'float32')));
          }
        }
        const share = mean(differs);
        return {
          verdict: share > 0.05 ? 'true' : 'depends',
          answer: `Weights alone mislead. In the last layer of an encoder the token with the largest weight is, for ${percent(share)} of tokens and heads, not the one that adds most to the output, weight times the length of its vector (Kobayashi et al. 2020, arXiv 2004.10102).`,
        };
      }),
  },
];
