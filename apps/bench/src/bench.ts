// The main job: the published model reproduced, one sentence drawn, the layers timed.
import { writeFileSync } from 'node:fs';
import { attentionMaps } from './attention-maps';
import { type Backend, chooseBackend, startFrom } from './backend';
import type { BackendName } from './backend-name';
import { type Environment, readEnvironment } from './environment';
import { WrongResultError } from './errors';
import { mobyDickSentences } from './moby-dick';
import { readModelFiles } from './model-files';
import type { Outlet } from './outlet';
import { prefillCases } from './prefill-cases';
import { type Timing, timePrefill } from './prefill-speed';
import { loadPublishedModel, type PublishedModel } from './published-model';
import { environmentLines, headline, reproductionLines, speedLines } from './report';
import { type Reproduction, reproduceSentences, wrongParts } from './reproduction';

export interface BenchOptions {
  readonly backend?: BackendName;
  readonly quick: boolean;
  readonly json?: string; // absolute path
}

/** What `--json` writes. */
export interface BenchResult {
  readonly environment: Environment;
  readonly backend: Backend;
  readonly reproduction: Reproduction;
  readonly prefill: readonly Timing[];
}

// Tokens a sentence. Beyond, Melville's are lists; the model reads twice as many.
const shortest = 4;
const longest = 64;

/** Plain JavaScript takes seconds for a batch of sentences, and half a minute for all samples of 512 tokens. */
function sizes(backend: BackendName, quick: boolean) {
  const sentences = quick ? 32 : 192;
  return {
    sentences: backend === 'cpu' ? sentences / 8 : sentences,
    lengths: quick ? [32, 128] : [32, 128, 512],
  };
}

/** @throws where the model is not reproduced, or a layer's numbers are wrong. */
export async function bench({ backend: wanted, quick, json }: BenchOptions, outlet: Outlet): Promise<void> {
  const { print, progress, terminal } = outlet;
  const backend = await chooseBackend(wanted);
  const environment = readEnvironment();
  const { sentences, lengths } = sizes(backend.name, quick);

  progress.stage('reading the model');
  const files = readModelFiles();
  const model = await loadPublishedModel(files);
  const reproduction = await reproduce(model, sentences, outlet);
  print([
    headline(reproduction),
    '',
    ...environmentLines(backend, environment),
    '',
    ...reproductionLines(reproduction),
  ]);
  const wrong = wrongParts(reproduction);
  if (wrong.length > 0) throw new WrongResultError(wrong.join('\n'));

  const maps = await attentionMaps(model, { text: 'Call me Ishmael.', layer: 2 }, terminal);
  model.dispose();
  print(['', ...maps]);

  const backends = await startFrom(backend.name);
  progress.stage(`timing prefill on ${backends.join(' and ')}, each case checked first`);
  const prefill = await timePrefill(prefillCases(files, lengths), backends, progress.advance);
  print(['', ...speedLines(prefill, backends, terminal.width)]);

  if (json !== undefined) {
    const result: BenchResult = { environment, backend, reproduction, prefill };
    writeFileSync(json, `${JSON.stringify(result, null, 2)}\n`);
  }
}

function reproduce(model: PublishedModel, count: number, { progress }: Outlet): Promise<Reproduction> {
  progress.stage(`reproducing attention on ${count} sentences of Moby Dick`);
  const fits = (sentence: string) => {
    const { tokens, unknown } = model.tokenize(sentence);
    return unknown.length === 0 && tokens.length >= shortest && tokens.length <= longest;
  };
  return reproduceSentences(model, mobyDickSentences(count, fits), (done) => progress.advance(done, count));
}
