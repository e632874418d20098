// What the heads of one layer see in one sentence: the sentence through the published model, drawn.
import { textHeadMaps } from '@polyhead/inspect';
import { chooseBackend } from '../backends/backend';
import type { BackendName } from '../backends/backend-name';
import { UsageError } from '../command-line/errors';
import type { Outlet } from '../command-line/outlet';
import type { Terminal } from '../command-line/terminal';
import { loadPublishedModel, type PublishedModel } from '../published/model';
import { readModelFiles } from '../published/model-files';
import { maxTokens } from '../published/sentence-encoder';
import { normalizeText, type Token, wordStart } from '../published/tokenizer';
import { reproduceBatch } from './reproduction';

export interface MapRequest {
  readonly text: string;
  readonly layer: number; // counts from 1
}

/** `bench attention TEXT`, with the proof that the maps are the model's own. */
export async function drawAttention(
  { backend, ...request }: MapRequest & { readonly backend?: BackendName },
  { print, terminal }: Outlet,
): Promise<void> {
  await chooseBackend(backend);
  const model = await loadPublishedModel(readModelFiles());
  try {
    print(await attentionMaps(model, request, terminal));
  } finally {
    model.dispose();
  }
}

/** @throws UsageError for a text with nothing to see, or with more than the model reads. */
export async function attentionMaps(
  model: PublishedModel,
  { text, layer }: MapRequest,
  terminal: Terminal,
): Promise<string[]> {
  const { tokens, unknown } = readableTokens(model, text);
  const reproduced = await reproduceBatch(model, [tokens.map(({ id }) => id)]);
  const [heads] = (await reproduced[layer - 1]!.weights.array()) as number[][][][];
  for (const { weights } of reproduced) weights.dispose();

  const maps = textHeadMaps(heads!, { ...terminal, queries: tokens.map(labelOf) });
  const title = `What the heads of layer ${layer} see in “${normalizeText(text)}”`;
  return [
    shorten(title, terminal.width),
    'Each row is a token that looks, each column a token it looks at; a row sums to 1.',
    ...(maps.drawn.keys < tokens.length
      ? [`The first ${maps.drawn.keys} of ${tokens.length} tokens are drawn.`]
      : []),
    ...(unknown.length > 0
      ? [`Left out, not in the model's vocabulary: ${shorten(unknown.join(' '), 40)}`]
      : []),
    '',
    ...maps.lines,
  ];
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
export const labelOf = ({ piece }: Token) => (piece === wordStart ? piece : piece.replace(wordStart, ''));

function shorten(text: string, width: number): string {
  const letters = [...text];
  return letters.length <= width ? text : `${letters.slice(0, width - 1).join('')}…`;
}
