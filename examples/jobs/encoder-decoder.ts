// A small encoder–decoder that learns from pairs of a source and a target: translation and summaries.
import { flash } from '@polyhead/flash';
import { MultiHeadAttention } from '@polyhead/multi-head';
import { sinusoidal } from '@polyhead/relative-position';
import { Decoder, Encoder, EncoderDecoder } from '@polyhead/transformer';
import { crossEntropy } from '@polyhead/transformer/training';
import * as tf from '@tensorflow/tfjs';
import { answer, idsOf, mapsOf, shareRight, type Training, train } from './train';

/** Rows of tokens; all sources are of one length, and all targets. */
export interface Pair {
  readonly source: readonly number[];
  readonly target: readonly number[];
}

/** Token 0 begins a target, and fills what is shorter. */
export function createEncoderDecoder(vocabularySize: number): EncoderDecoder {
  const embedDim = 48;
  const config = {
    vocabularySize,
    embedDim,
    numLayers: 1,
    norm: { kind: 'rms' },
    feedForward: { hiddenDim: 96, activation: 'relu' },
    seed: 1,
  } as const;
  const positions = sinusoidal({ embedDim });
  const attention = (parts: object) =>
    new MultiHeadAttention({ embedDim, numHeads: 4, seed: 1 }, { ...parts, kernel: flash() });
  const encoder = new Encoder(config, { name: 'encoder', attention, positions });
  const decoder = new Decoder(config, { name: 'decoder', attention, crossAttention: attention, positions });
  return new EncoderDecoder({ startToken: 0 }, { encoder, decoder });
}

const sourcesOf = (pairs: readonly Pair[]) => idsOf(pairs.map(({ source }) => source));
/** What the decoder reads while it writes: the target, one behind. */
const shifted = (pairs: readonly Pair[]) => idsOf(pairs.map(({ target }) => [0, ...target.slice(0, -1)]));

export function learnPairs(model: EncoderDecoder, draw: () => Pair, training: Training): void {
  const loss = () => {
    const pairs = Array.from({ length: 32 }, draw);
    return crossEntropy(
      model.apply(sourcesOf(pairs), shifted(pairs)).logits,
      pairs.map(({ target }) => target),
    );
  };
  train(model.variables, loss, training);
}

/** What the model writes for each source by itself, and the share of targets of which every token is right. */
export function examine(model: EncoderDecoder, pairs: readonly Pair[]) {
  const said = tf.tidy(() => {
    const memory = model.encode(sourcesOf(pairs)).output;
    const logitsOf = (rows: number[][]) => model.decoder.apply(idsOf(rows), { memory }).logits;
    return answer(pairs.length, pairs[0]!.target.length, logitsOf);
  });
  return {
    said,
    right: shareRight(
      said,
      pairs.map(({ target }) => target),
    ),
  };
}

/** What the heads of the cross-attention read in the source, for each token of the target: [H][target][source]. */
export const crossMaps = (model: EncoderDecoder, pair: Pair): number[][][] =>
  mapsOf((kernel) => model.apply(sourcesOf([pair]), shifted([pair]), { kernel })).at(-1)!;
