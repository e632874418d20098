// Sentences of Moby Dick through the published model: its attention reproduced, its heads and key/value heads studied.
import type { Progress } from '../command-line/progress';
import { mobyDickSentences } from '../published/moby-dick';
import type { PublishedModel } from '../published/model';
import { type ModelStudy, studyModel } from './model-study';
import { type Reproduction, reproduceSentences } from './reproduction';

// Tokens a sentence. Beyond, Melville's are lists; the model reads twice as many.
const shortest = 4;
const longest = 64;
/** Patterns of fewer tokens say little. */
const shortestStudied = 13;

/** @param count of sentences */
export function reproducePublished(
  model: PublishedModel,
  count: number,
  progress: Progress,
): Promise<Reproduction> {
  progress.stage(`reproducing attention on ${count} sentences of Moby Dick`);
  return reproduceSentences(model, sentencesOf(model, count, shortest), (done) =>
    progress.advance(done, count),
  );
}

/** @param count of sentences */
export function studyPublished(
  model: PublishedModel,
  count: number,
  progress: Progress,
): Promise<ModelStudy> {
  progress.stage(`pooling, naming and silencing heads on ${count} sentences`);
  return studyModel(model, sentencesOf(model, count, shortestStudied), progress.advance);
}

function sentencesOf(model: PublishedModel, count: number, fewest: number): string[] {
  return mobyDickSentences(count, (sentence) => {
    const { tokens, unknown } = model.tokenize(sentence);
    return unknown.length === 0 && tokens.length >= fewest && tokens.length <= longest;
  });
}
