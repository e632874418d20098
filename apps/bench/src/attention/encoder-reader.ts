// Universal Sentence Encoder Lite as a reader: its maps are compared with those of its own graph before they are shown.
import type { HeadWeights } from '@polyhead/inspect';
import { UsageError, WrongResultError } from '../command-line/errors';
import { loadPublishedModel, type PublishedModel } from '../published/model';
import { readModelFiles } from '../published/model-files';
import { maxTokens } from '../published/sentence-encoder';
import { normalizeText, type Token, wordStart } from '../published/tokenizer';
import { reproduceBatch, wrongParts } from '../reproduce/reproduction';
import type { Reader } from './reader';
import type { Piece } from './words';

/** On the current backend. */
export async function loadEncoderReader(): Promise<Reader> {
  return encoderReader(await loadPublishedModel(readModelFiles()));
}

export function encoderReader(model: PublishedModel): Reader {
  return {
    title: 'Universal Sentence Encoder Lite',
    layers: model.layers.length,
    headsPerLayer: model.layers[0]!.config.numHeads,
    usualLayer: 2,
    attentions: model.layers,
    tokenize: (text) => {
      const { tokens, unknown } = readableTokens(model, text);
      const ids = tokens.map(({ id }) => id);
      return { text: normalizeText(text), ids, pieces: tokens.map(pieceOf), leftOut: unknown };
    },
    weights: (ids) => checkedWeights(model, ids),
    dispose: () => model.dispose(),
  };
}

async function checkedWeights(model: PublishedModel, ids: readonly number[]): Promise<HeadWeights[]> {
  const reproduced = await reproduceBatch(model, [ids]);
  const read = reproduced.map(({ weights }) => (weights.arraySync() as number[][][][])[0]!);
  for (const { weights } of reproduced) weights.dispose();
  const layers = reproduced.map(({ difference }) => difference);
  const wrong = wrongParts({ sentences: 1, tokens: ids.length, layers });
  if (wrong.length > 0) throw new WrongResultError(wrong.join('\n'));
  return read;
}

function readableTokens({ tokenize }: PublishedModel, text: string) {
  if (normalizeText(text) === '')
    throw new UsageError('the text is empty: give a sentence, for example "Call me Ishmael."');
  const encoding = tokenize(text);
  if (encoding.tokens.every(({ piece }) => piece === wordStart)) {
    throw new UsageError("nothing in the text is in the model's vocabulary: it reads English");
  }
  if (encoding.tokens.length > maxTokens) {
    const count = encoding.tokens.length.toLocaleString('en');
    throw new UsageError(`the text is ${count} tokens long: the model reads ${maxTokens}, about 90 words`);
  }
  return encoding;
}

/** The space a piece starts with is left away, unless it is all there is. */
export const pieceOf = ({ piece }: Token): Piece => ({
  text: piece === wordStart ? piece : piece.replace(wordStart, ''),
  startsWord: piece.startsWith(wordStart),
});
