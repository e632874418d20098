// What heads see, for the report: maps of the published encoder and of a decoder, where heads rest, what each is worth.
import { type AttentionKernel, composed } from '@polyhead/core';
import { wrapKernel } from '@polyhead/core/kernel';
import { type HeadWeights, headStatistics } from '@polyhead/inspect';
import * as tf from '@tensorflow/tfjs-core';
import { decoderReader } from '../attention/decoder-reader';
import { encoderReader } from '../attention/encoder-reader';
import { readText } from '../attention/reader';
import { decoderOf, type LoadedModel } from '../model/loaded-model';
import type { PublishedModel } from '../published/model';
import type { HeadMaps, Sinks } from './sections';

/** More than 12 tokens, so that patterns say something. */
const drawnText = 'The captain saw the white ship and was afraid of the sea.';

export async function encoderMaps(model: PublishedModel): Promise<HeadMaps[]> {
  const reader = encoderReader(model);
  const layer = reader.usualLayer;
  const { text, pieces, heads } = await readText(reader, drawnText, layer);
  return [{ model: reader.title, layer, text, pieces: [...pieces], ...shownOf(heads) }];
}

/**
 * The layer whose heads rest most on the first token, and the one whose heads do least.
 *
 * @param silences whether each head is also silenced in a pass of its own
 */
export async function decoderMaps(
  loaded: LoadedModel,
  { silences }: { readonly silences: boolean },
): Promise<{ maps: HeadMaps[]; sinks: Sinks }> {
  const reader = decoderReader(loaded);
  const { ids, pieces, text } = reader.tokenize(drawnText);
  const weights = await reader.weights(ids);
  const layers = weights.map(shareOfFirst);
  const [least, most] = [Math.min(...layers), Math.max(...layers)].map((share) => layers.indexOf(share));
  const maps = [least!, most!].map((layer) => ({
    model: loaded.title,
    layer: layer + 1,
    text,
    pieces: [...pieces],
    ...shownOf(weights[layer]!),
    ...(silences && { ablation: logitsWithout(loaded, ids, { layer, heads: weights[layer]!.length }) }),
  }));
  return { maps, sinks: { model: loaded.title, text, token: pieces[0]!.text, layers } };
}

function shareOfFirst(heads: HeadWeights): number {
  const shares = heads.flatMap((rows) => rows.slice(1).map((row) => row[0]!));
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

/** ‖logits − logits without the head‖ / ‖logits‖, behind the last token, by head. */
function logitsWithout(
  loaded: LoadedModel,
  ids: readonly number[],
  { layer, heads }: { readonly layer: number; readonly heads: number },
): number[] {
  const logitsOf = (kernel: AttentionKernel) =>
    decoderOf(loaded.model).apply(tf.tensor2d([[...ids]], undefined, 'int32'), { kernel, logits: 'last' })
      .logits;
  return tf.tidy(() => {
    const all = logitsOf(composed());
    const norm = tf.norm(all).dataSync()[0]!;
    return Array.from({ length: heads }, (_, head) =>
      tf.tidy(() => tf.norm(tf.sub(logitsOf(without(head, layer)), all)).dataSync()[0]! / norm),
    );
  });
}

/** `composed`, silent in one head of one layer; of one pass over the layers. */
function without(head: number, layer: number): AttentionKernel {
  let call = -1;
  return wrapKernel(composed(), {
    result: (result) => {
      call += 1;
      if (call !== layer) return result;
      const [, H] = result.output.shape;
      const kept = tf.tensor4d(
        Array.from({ length: H }, (_, h) => Number(h !== head)),
        [1, H, 1, 1],
      );
      return { ...result, output: tf.mul(result.output, kept) };
    },
  });
}

/** Weights to four digits, so that files stay small, and what heads do by them. */
function shownOf(heads: HeadWeights): Pick<HeadMaps, 'heads' | 'statistics'> {
  const rounded = heads.map((rows) => rows.map((row) => row.map((weight) => Number(weight.toFixed(4)))));
  const statistics = headStatistics(rounded).map(({ pattern, entropy, distance, strongestColumn }) => ({
    ...{ pattern, entropy, distance, strongestColumn },
  }));
  return { heads: rounded, statistics };
}
