// What maps of trained heads show: patterns, labelled pairs, distance, and where weights mislead.
import { type HeadStatistics, headStatistics } from '@polyhead/inspect';
import * as tf from '@tensorflow/tfjs';
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

/** Labelled by hand: which word should find which. */
const pairs = [
  { kind: 'subject and verb', text: 'The cat that I saw yesterday ran away', from: 'ran', to: 'cat' },
  { kind: 'subject and verb', text: 'The bank by the river was flooded.', from: 'flooded', to: 'bank' },
  { kind: 'subject and verb', text: 'The dogs in the garden of my friend bark', from: 'bark', to: 'dogs' },
  { kind: 'sense by neighbour', text: 'The bank by the river was flooded.', from: 'bank', to: 'river' },
  { kind: 'sense by neighbour', text: 'The bank gave my father a loan', from: 'bank', to: 'loan' },
  { kind: 'sense by neighbour', text: 'He took his bat and hit the ball', from: 'bat', to: 'ball' },
  { kind: 'relative clause', text: 'The cat that I saw yesterday ran away', from: 'that', to: 'cat' },
  { kind: 'relative clause', text: 'The man who sold the house was old', from: 'who', to: 'man' },
  { kind: 'relative clause', text: 'The ship which sank the boat was white', from: 'which', to: 'ship' },
  { kind: 'pronoun and name', text: 'Mary was tired because she had worked', from: 'she', to: 'Mary' },
  { kind: 'pronoun and name', text: 'The dog was wet because it swam', from: 'it', to: 'dog' },
  { kind: 'pronoun and name', text: 'The captain knew that he would die', from: 'he', to: 'captain' },
] as const;

/** Where a word stands, or its first piece. */
function placeOf(word: string, tokens: readonly { readonly piece: string }[]): number {
  const pieces = tokens.map(({ piece }) => piece.replace('▁', '').toLowerCase());
  const whole = pieces.indexOf(word.toLowerCase());
  if (whole >= 0) return whole;
  const part = pieces.findIndex((piece) => piece.length > 2 && word.toLowerCase().startsWith(piece));
  if (part < 0) throw new Error(`${word} is not among ${pieces.join(' ')}`);
  return part;
}

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
        const kinds = new Map<string, number[][]>(); // of each pair the weight of each head, by chance 1
        for (const { kind, text, from, to } of pairs) {
          const { tokens } = encoder.tokenize(text);
          const at = (word: string) => placeOf(word, tokens);
          const layers = await encoderHeads(
            encoder,
            tokens.map(({ id }) => id),
          );
          const times = layers.flat().map((head) => head[at(from)]![at(to)]! * tokens.length);
          kinds.set(kind, [...(kinds.get(kind) ?? []), times]);
        }
        const findings = [...kinds].map(([kind, rows]) => {
          const heads = rows[0]!.map((_, h) => mean(rows.map((row) => row[h]!)));
          const best = heads.indexOf(Math.max(...heads));
          return { kind, best, times: heads[best]!, above: heads.filter((x) => x > 1).length };
        });
        const isSeveral = new Set(findings.map(({ best }) => best)).size > 1;
        const name = (h: number) => `layer ${Math.floor(h / 4) + 1} head ${(h % 4) + 1}`;
        return {
          verdict: isSeveral && findings.filter(({ times }) => times > 2).length >= 2 ? 'depends' : 'false',
          answer: `Some tendency, in a small encoder with 8 heads and three labelled pairs of each kind, against even weights: ${findings
            .map(
              ({ kind, best, times, above }) =>
                `${kind}, best ${name(best)} with ${digits(times)} ×, ${above} heads above 1 ×`,
            )
            .join('; ')}.`,
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
          verdict: decide({ true: far > even && wide > evenWide, depends: far > even || wide > evenWide }),
          answer: `Farther than a head that looks everywhere alike? In a sentence encoder the farthest of 8 heads looks ${digits(wide, 2)} tokens away on average, an even one ${digits(evenWide, 2)}; in a decoder of bytes the farthest of 16 ${digits(far, 2)} of 128 bytes, an even one ${digits(even, 2)}.`,
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
