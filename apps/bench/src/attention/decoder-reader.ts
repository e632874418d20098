// A decoder out of a file as a reader: its weights are read where its layers' kernel gives them.
import { type AttentionConfig, type AttentionKernel, composed } from '@polyhead/core';
import { wrapKernel } from '@polyhead/core/kernel';
import type { HeadWeights } from '@polyhead/inspect';
import { Decoder } from '@polyhead/transformer';
import * as tf from '@tensorflow/tfjs-core';
import { UsageError } from '../command-line/errors';
import { decoderOf, type LoadedModel } from '../model/loaded-model';
import { idsOf } from '../model/proof';
import { normalizeText } from '../published/tokenizer';
import type { Reader, TokenizedText } from './reader';
import type { Piece } from './words';

/** Maps of more are too large to be read. */
const mostTokens = 128;

/** @throws UsageError for a model that reads a source and writes a target */
export function decoderReader(loaded: LoadedModel): Reader {
  const { model, title } = loaded;
  if (!(model instanceof Decoder))
    throw new UsageError(
      `${title} reads one text and writes another: only decoders and the encoder are drawn`,
    );
  const layers = model.blocks.length;
  const { numHeads } = model.blocks[0]!.attention.config as AttentionConfig;
  return {
    title,
    layers,
    headsPerLayer: numHeads,
    usualLayer: Math.ceil(layers / 2),
    attentions: model.blocks.map(({ attention }) => attention),
    decoder: loaded,
    tokenize: (text) => tokenized(loaded, text),
    weights: async (ids) => layerWeights(loaded, ids),
    dispose: () => model.dispose(),
  };
}

function tokenized(loaded: LoadedModel, text: string): TokenizedText {
  const line = normalizeText(text);
  if (line === '') throw new UsageError('the text is empty: give a sentence, for example "Call me Ishmael."');
  const ids = idsOf(loaded, line);
  const most = Math.min(mostTokens, decoderOf(loaded.model).maxLength ?? mostTokens);
  if (ids.length > most) {
    const count = ids.length.toLocaleString('en');
    throw new UsageError(`the text is ${count} tokens long: up to ${most} can be drawn`);
  }
  const pieces = ids.map((id, n) => pieceOf(loaded.tokenizer.decode([id]), n));
  return { text: line, ids, pieces, leftOut: [] };
}

function pieceOf(text: string, place: number): Piece {
  const word = text.replace(/^ /, '');
  return { text: word === '' ? '␠' : word, startsWord: place === 0 || text.startsWith(' ') };
}

/** Of all layers, [H, S, S] each. */
function layerWeights(loaded: LoadedModel, ids: readonly number[]): HeadWeights[] {
  const layers: HeadWeights[] = [];
  const kernel = recording(composed(), (weights) => layers.push(weights));
  const result = tf.tidy(() => {
    const { logits } = decoderOf(loaded.model).apply(tf.tensor2d([[...ids]], undefined, 'int32'), { kernel });
    return logits;
  });
  result.dispose();
  return layers;
}

/** The kernel, with the weights of the first batch entry read at each call. */
function recording(kernel: AttentionKernel, onWeights: (weights: HeadWeights) => void): AttentionKernel {
  return wrapKernel(kernel, {
    call: (call) => ({ ...call, returns: [...(call.returns ?? []), 'weights'] }),
    result: ({ weights, ...result }, call) => {
      onWeights((weights!.arraySync() as number[][][][])[0]!);
      return call.returns?.includes('weights') ? { ...result, weights: weights! } : result;
    },
  });
}
