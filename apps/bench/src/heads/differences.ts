// How heads differ: in what they look at, and in what they write.
import { headDivergence, type Matrix, principalAngles } from '@polyhead/inspect';
import * as tf from '@tensorflow/tfjs-core';
import type { Reader } from '../attention/reader';
import type { Progress } from '../command-line/progress';
import { percent } from '../print/format-number';
import { headName } from './head-name';
import { headScoresSvg } from './head-scores-svg';
import type { Section } from './section';
import { readWordPairs } from './word-pairs';

/** One of so many sentences is enough to tell heads apart. */
const sentenceStep = 5;

const mean = (numbers: readonly number[]) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;

/** [N, N] of all heads: the mean Jensen–Shannon divergence over sentences, in nats. */
async function divergences(model: Reader, progress: Progress): Promise<number[][]> {
  const sentences = (await readWordPairs(model, progress)).filter((_, n) => n % sentenceStep === 0);
  const tables = sentences.map(({ heads }) => headDivergence(heads));
  return tables[0]!.map((row, a) => row.map((_, b) => mean(tables.map((table) => table[a]![b]!))));
}

/** By layer, [H][H]: the share of what a head can write that lies where the other writes, the mean squared cosine. */
function overlaps({ attentions, headsPerLayer: H }: Reader, progress: Progress): number[][][] {
  return attentions.map((attention, layer) => {
    progress.advance(layer, attentions.length);
    const kernel = tf.tidy(() => attention.getWeights()['output/kernel']!.arraySync() as number[][]); // [H · Dv, E]
    const Dv = kernel.length / H;
    const written = Array.from({ length: H }, (_, h) => transposed(kernel.slice(h * Dv, (h + 1) * Dv))); // [E, Dv]
    const table = written.map(() => new Array<number>(H).fill(1));
    for (let a = 0; a < H; a++)
      for (let b = a + 1; b < H; b++) {
        const overlap = mean(principalAngles(written[a]!, written[b]!).map((angle) => Math.cos(angle) ** 2));
        table[a]![b] = overlap;
        table[b]![a] = overlap;
      }
    return table;
  });
}

const transposed = (matrix: Matrix): Matrix => matrix[0]!.map((_, j) => matrix.map((row) => row[j]!));

/** [layers]: of two spaces of Dv directions in E that are drawn at random. */
const overlapsByChance = ({ attentions, headsPerLayer }: Reader): number[] =>
  attentions.map((attention) => {
    const [rows, columns] = tf.tidy(() => attention.getWeights()['output/kernel']!.shape); // [H · Dv, E]
    return Math.min(1, rows! / headsPerLayer / columns!);
  });

export const differences: Section = {
  name: 'differences',
  title: 'How heads differ',
  async measure(model, progress) {
    const { headsPerLayer: H, layers } = model;
    const divergence = await divergences(model, progress);
    const overlap = overlaps(model, progress);
    const overlapByChance = overlapsByChance(model);
    const layerOf = (head: number) => Math.floor(head / H);
    const heads = [...divergence.keys()];
    const pairs = heads.flatMap((a) => heads.slice(a + 1).map((b) => ({ a, b, nats: divergence[a]![b]! })));
    const within = pairs.filter(({ a, b }) => layerOf(a) === layerOf(b));
    const between = pairs.filter(({ a, b }) => layerOf(a) !== layerOf(b));
    const nats = (all: typeof pairs) => mean(all.map((pair) => pair.nats));
    const alike = pairs.reduce((least, pair) => (pair.nats < least.nats ? pair : least));
    const apart = (head: number) => mean(heads.filter((b) => b !== head).map((b) => divergence[head]![b]!));
    const unlike = heads.reduce((most, head) => (apart(head) > apart(most) ? head : most));
    const off = overlap.flatMap((table, layer) =>
      table.flatMap((row, a) =>
        row.slice(a + 1).map((share, n) => ({ a: layer * H + a, b: layer * H + a + 1 + n, share })),
      ),
    );
    const nearest = off.reduce((most, pair) => (pair.share > most.share ? pair : most));
    const others = (row: readonly number[], head: number) => mean(row.filter((_, b) => b !== head));
    const inLayer = heads.map((head) => {
      const first = layerOf(head) * H;
      return others(divergence[head]!.slice(first, first + H), head - first);
    });
    const written = overlap.flatMap((table) => table.map(others));
    const name = (head: number) => headName(head, H);
    return {
      json: { divergence, overlap, overlapByChance },
      svg: headScoresSvg({
        title: 'How far heads are from the others of their layer',
        unit: 'nats, share',
        headsPerLayer: H,
        scores: { 'divergence, nats': inLayer, 'overlap of what they write': written },
      }),
      lines: () => [
        'What they look at: Jensen–Shannon divergence, from 0 (the same) to 0.69 nats (no key in common).',
        `Two heads of one layer are ${nats(within).toFixed(2)} apart on average${layers > 1 ? `, of different layers ${nats(between).toFixed(2)}` : ''}; the most alike are`,
        `${name(alike.a)} and ${name(alike.b)} with ${alike.nats.toFixed(3)}; the most unlike all others is ${name(unlike)} with ${apart(unlike).toFixed(2)}.`,
        '',
        'What they write: the share of the directions of a head (rows of W_O) that lie in those of another, by principal angles.',
        `Two heads of one layer share ${percent(mean(off.map(({ share }) => share)))} on average, ${percent(mean(overlapByChance))} by chance; ${name(nearest.a)} and ${name(nearest.b)} share most, ${percent(nearest.share)}.`,
      ],
    };
  },
};
