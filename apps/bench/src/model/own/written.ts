// A line of text that the model of the repository writes.
import { composed } from '@polyhead/core';
import { generate, TextStream } from '@polyhead/transformer';
import { threeDigits } from '../../print/format-number';
import { cacheOf } from '../ways';
import { byteTokenizer, loadOwnModel, ownSampling } from './own-model';

const prompt = 'Call me Ishmael. ';
const bytes = 160;

/** Drawn from a seed: the same text at every run of a backend. */
export async function writtenLines(): Promise<string[]> {
  const model = await loadOwnModel();
  const cache = cacheOf('static', model, { tokens: prompt.length + bytes });
  const ids = Array.from(byteTokenizer.encode(prompt) as readonly number[]);
  const stream = new TextStream(byteTokenizer);
  const options = { cache, kernel: composed(), maxTokens: bytes, ...ownSampling };
  const start = performance.now();
  let text = '';
  for await (const { token } of generate(model, ids, options)) text += stream.push(token);
  const speed = (1000 * bytes) / (performance.now() - start);
  cache?.dispose();
  model.dispose();
  const parameters = model.variables.reduce((sum, { variable }) => sum + variable.size, 0);
  return [
    `Written byte by byte, ${threeDigits(speed)} a second, by a decoder of ${(parameters / 1e6).toFixed(1)} million parameters trained on Moby Dick:`,
    `  ${prompt}${text.replace(/\s+/g, ' ').replace(/ \S*$/, '')}`,
  ];
}
