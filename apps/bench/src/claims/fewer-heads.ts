// What becomes of trained models when heads fail, are pooled or left out, and how alike their heads are.

import type { AttentionKernel } from '@polyhead/core';
import { flash } from '@polyhead/flash';
import { silenceEach, silenceHeads } from '@polyhead/inspect';
import { adamW, gradientsOf } from '@polyhead/transformer/training';
import * as tf from '@tensorflow/tfjs';
import { mobyDickChapters } from '../published/moby-dick';
import { cosineSimilarities, poolLayer } from '../reproduce/pooled-variants';
import { type Claim, decide, digits } from './claim';
import {
  heldOutRows,
  lossOf,
  mean,
  nats,
  outputsOf,
  rowsOf,
  sentencesOf,
  setShares,
  withDecoder,
  withEncoder,
} from './trained-models';

export const fewerHeads: readonly Claim[] = [
  {
    number: 17,
    says: 'Where one head fails, the others compensate.',
    within: 0.15,
    run: () =>
      withDecoder(async (decoder) => {
        const rows = heldOutRows(4, 96);
        const { whole, heads } = await silenceEach((kernel) => lossOf(decoder, rows, kernel), {
          kernel: flash(),
        });
        const without = (silent: (layer: number) => readonly number[]) =>
          silenceHeads(flash(), [0, 1, 2, 3].map(silent));
        const natsBy = (kernel: AttentionKernel) =>
          tf.tidy(() => lossOf(decoder, rows, kernel).dataSync()[0]!);
        const rises = heads.map(({ loss }) => loss - whole);
        const silenced = Math.max(...rises);
        const worst = heads[rises.indexOf(silenced)]!;
        const layerGone = Math.max(
          ...[0, 1, 2, 3].map(
            (gone) => natsBy(without((layer) => (layer === gone ? [0, 1, 2, 3] : []))) - whole,
          ),
        );
        // What is left learns to do without it.
        const withoutWorst = () => without((layer) => (layer === worst.layer ? [worst.head] : []));
        const training = rowsOf(mobyDickChapters().slice(0, 20), 12 * 4, 64);
        const optimizer = adamW(decoder.variables, { weightDecay: 0 });
        for (let step = 0; step < 12; step++)
          tf.tidy(() => {
            const batch = training.slice(4 * step, 4 * step + 4);
            const loss = () => lossOf(decoder, batch, withoutWorst());
            optimizer.update(gradientsOf(loss, decoder.variables).gradients, 3e-4);
          });
        const retrained = natsBy(withoutWorst()) - whole;
        optimizer.dispose();
        const few = rises.filter((rise) => rise < 0.05).length;
        return {
          verdict: decide({ true: few === rises.length, depends: few > 0 && retrained < silenced / 2 }),
          answer: `Of 16 heads of a decoder (${digits(whole)} nats a byte) ${few} can go one by one for less than 0.05 nats; the worst costs ${digits(silenced)}, the worst layer of four ${digits(layerGone)}. After 12 steps of training without that head it costs ${digits(retrained)}: others learn to, they do not simply.`,
        };
      }),
  },
  {
    number: 18,
    says: 'Heads work in different subspaces.',
    run: () =>
      withDecoder((decoder) => {
        const overlaps = (ofHead: (block: number, head: number) => readonly [tf.Tensor2D, tf.Tensor2D]) => {
          const cosines: number[] = [];
          for (let block = 0; block < 4; block++)
            for (let one = 0; one < 4; one++)
              for (let other = one + 1; other < 4; other++)
                cosines.push(Math.abs(cosineOfProducts(ofHead(block, one), ofHead(block, other))));
          return mean(cosines);
        };
        const weights = decoder.blocks.map(({ attention }) => attention.getWeights());
        const part = (block: number, name: string, at: number) =>
          tf.slice(weights[block]![name] as tf.Tensor2D, [0, at * 32], [-1, 32]);
        const trained = overlaps((block, head) => [
          part(block, 'query/kernel', head),
          part(block, 'key/kernel', head >> 1),
        ]);
        let seed = 1;
        const random = overlaps(() => [
          tf.randomNormal<tf.Rank.R2>([128, 32], 0, 1, 'float32', seed++),
          tf.randomNormal<tf.Rank.R2>([128, 32], 0, 1, 'float32', seed++),
        ]);
        return {
          verdict: trained < 0.3 && random < 0.3 ? 'depends' : 'false',
          answer: `They do, and that alone says little. The matrices W_Q W_Kᵀ of two heads of one layer have a cosine of ${digits(trained, 2)} on average in a trained decoder, whose heads share keys by twos, and of ${digits(random, 2)} where all numbers are random.`,
        };
      }),
  },
  {
    number: 19,
    says: 'Heads are an ensemble: like votes of several models.',
    run: () =>
      withEncoder(async (encoder) => {
        const [ids] = sentencesOf(encoder, 1);
        const records = await encoder.record([ids!]);
        const layer = encoder.layers[1]!;
        const { headOutputs } = layer.apply({ query: records[1]!.input }, { returns: ['headOutputs'] });
        const output = layer.getWeights()['output/kernel'] as tf.Tensor2D;
        const parts = tf
          .unstack(tf.squeeze(headOutputs!, [0]))
          .map((head, h) =>
            tf.expandDims<tf.Tensor3D>(
              tf.matMul(head as tf.Tensor2D, tf.slice(output, [h * 128, 0], [128, -1])),
              0,
            ),
          );
        const cosines = parts.flatMap((one, h) =>
          parts.slice(h + 1).flatMap((other) => cosineSimilarities(one, other)),
        );
        const losses = await withDecoder((decoder) => {
          const rows = heldOutRows(4, 96);
          const originals = outputsOf(decoder).map((variable) => tf.clone(variable));
          return [4, 3, 2, 1].map((kept) => {
            const shares = [0, 1, 2, 3].map((head) => (head < kept ? 4 / kept : 0));
            setShares(
              decoder,
              originals,
              originals.map(() => shares),
            );
            return nats(decoder, rows);
          });
        });
        const likeness = mean(cosines);
        return {
          verdict: likeness < 0.5 && losses[1]! > losses[0]! + 0.1 ? 'false' : 'true',
          answer: `Votes would be alike, and fewer of them nearly as good. What two heads of an encoder add to a token has a cosine of ${digits(likeness, 2)} on average; a decoder with 4, 3, 2 and 1 of its 4 heads a layer, scaled up, has ${losses.map((loss) => digits(loss)).join(', ')} nats a byte. Heads are parts of a sum.`,
        };
      }),
  },
  {
    number: 32,
    says: 'Grouped heads keep quality while they save memory.',
    within: 0.1,
    run: () =>
      withEncoder(async (encoder) => {
        const inputs: tf.Tensor3D[] = [];
        for (const ids of sentencesOf(encoder, 13)) inputs.push((await encoder.record([ids]))[1]!.input);
        const layer = encoder.layers[1]!;
        const [{ attention }] = poolLayer(layer, [1]) as [ReturnType<typeof poolLayer>[number]];
        const held = inputs.at(-1)!;
        const likeness = () =>
          mean(
            cosineSimilarities(layer.apply({ query: held }).output, attention.apply({ query: held }).output),
          );
        const pooled = likeness();
        const optimizer = adamW(attention.variables, { weightDecay: 0 });
        for (let step = 0; step < 36; step++)
          tf.tidy(() => {
            const query = inputs[step % 12]!;
            const target = layer.apply({ query }).output;
            const { gradients } = gradientsOf(
              () => tf.losses.meanSquaredError(target, attention.apply({ query }).output) as tf.Scalar,
              attention.variables,
            );
            optimizer.update(gradients, 1e-3);
          });
        const trained = likeness();
        optimizer.dispose();
        attention.dispose();
        return {
          verdict: decide({ true: pooled > 0.9, depends: trained > pooled + 0.1 }),
          answer: `Not by themselves. A layer of an encoder with its 4 key/value heads pooled into one, a quarter of the cache, has outputs with a cosine of ${digits(pooled, 2)} to the original's; after 36 steps of training on 12 sentences ${digits(trained, 2)}, on a sentence it has not seen. [From multi-head to grouped](from-multi-head-to-grouped.md) trains one from the start.`,
        };
      }),
  },
];

/** The cosine of A Bᵀ and C Dᵀ as long vectors, by products of [D, D]: ⟨A Bᵀ, C Dᵀ⟩ = tr((Aᵀ C) (Bᵀ D)ᵀ). */
function cosineOfProducts(
  [a, b]: readonly [tf.Tensor2D, tf.Tensor2D],
  [c, d]: readonly [tf.Tensor2D, tf.Tensor2D],
): number {
  return tf.tidy(() => {
    const inner = (p: tf.Tensor2D, q: tf.Tensor2D, r: tf.Tensor2D, s: tf.Tensor2D) =>
      tf.sum(tf.mul(tf.matMul(p, r, true), tf.matMul(q, s, true))).dataSync()[0]!;
    return inner(a, b, c, d) / Math.sqrt(inner(a, b, a, b) * inner(c, d, c, d));
  });
}
