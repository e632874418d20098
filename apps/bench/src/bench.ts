// The main job: the published model reproduced and studied, variants and caches compared, one sentence drawn, layers timed.
import { writeFileSync } from 'node:fs';
import { encoderReader } from './attention/encoder-reader';
import { mapLines } from './attention/text-maps';
import { type Backend, chooseBackend, startFrom } from './backends/backend';
import type { BackendName } from './backends/backend-name';
import { WrongResultError } from './command-line/errors';
import type { Outlet } from './command-line/outlet';
import type { CachedTiming } from './compare/cached-speed';
import { type ComparisonCases, type ComparisonChoice, comparisonCases } from './compare/cases';
import { compareVariants } from './compare/comparison';
import { comparisonLines } from './compare/report';
import { type Brought, broughtLines, whatItBrings } from './compare/what-it-brings';
import { type Environment, readEnvironment } from './measure/environment';
import { writtenLines } from './model/own/written';
import { prefillCases } from './prefill/cases';
import { speedLines } from './prefill/report';
import { type Timing, timePrefill } from './prefill/speed';
import { environmentLines } from './print/environment-lines';
import { mobyDickSentences } from './published/moby-dick';
import { loadPublishedModel, type PublishedModel } from './published/model';
import { type ModelFiles, readModelFiles } from './published/model-files';
import { type ModelStudy, studyModel } from './reproduce/model-study';
import { headline, reproductionLines } from './reproduce/report';
import { type Reproduction, reproduceSentences, wrongParts } from './reproduce/reproduction';
import { headLines, variantLines } from './reproduce/study-report';

export interface BenchOptions {
  readonly backend?: BackendName;
  readonly quick: boolean;
  /** Which variants, caches and sizes are compared. Where any is chosen, nothing is drawn, and prefill is left out. */
  readonly choice: ComparisonChoice;
  readonly json?: string; // absolute path
}

/** What `--json` writes. */
export interface BenchResult {
  readonly brought: Brought;
  readonly environment: Environment;
  readonly backend: Backend;
  readonly reproduction: Reproduction;
  readonly study: ModelStudy;
  readonly comparison: readonly CachedTiming[];
  readonly prefill?: readonly Timing[];
}

// Tokens a sentence. Beyond, Melville's are lists; the model reads twice as many.
const shortest = 4;
const longest = 64;
/** Patterns of fewer tokens say little. */
const shortestStudied = 13;

/** Plain JavaScript takes seconds for a batch of sentences, and half a minute for all samples of 512 tokens. */
function sizes({ name }: Backend, { quick, choice }: BenchOptions) {
  const comparesOnly = Object.keys(choice).length > 0;
  const isShort = quick || comparesOnly;
  const share = name === 'cpu' ? 1 / 8 : 1;
  return {
    comparesOnly,
    sentences: (isShort ? 32 : 192) * share,
    studied: (isShort ? 16 : 48) * share,
    lengths: quick ? [32, 128] : [32, 128, 512],
  };
}

/** @throws where the model is not reproduced, or a layer's numbers or bytes are wrong. */
export async function bench(options: BenchOptions, outlet: Outlet): Promise<void> {
  const { choice, quick } = options;
  const backend = await chooseBackend(options.backend);
  const cases = comparisonCases(choice, { backend: backend.name, quick });
  const environment = readEnvironment();
  const { comparesOnly, lengths, ...counts } = sizes(backend, options);
  outlet.progress.stage('reading the model');
  const files = readModelFiles();
  const model = await loadPublishedModel(files);

  const reproduction = await reproduce(model, counts.sentences, outlet);
  const proof = [
    headline(reproduction),
    '',
    ...environmentLines(backend, environment),
    '',
    ...reproductionLines(reproduction),
  ];
  const wrong = wrongParts(reproduction);
  if (wrong.length > 0) {
    outlet.print(proof);
    throw new WrongResultError(wrong.join('\n'));
  }
  const study = await studySentences(model, counts.studied, outlet);
  const comparison = await compareVariants(cases, outlet.progress);
  const brought = whatItBrings(cases.at(-1)!, comparison);
  outlet.print([...broughtLines(brought, backend.name, outlet.terminal.width), '', ...proof]);
  printComparison({ cases, comparison, study }, outlet);

  if (!comparesOnly) await printMaps(model, outlet);
  model.dispose();
  if (!comparesOnly) outlet.print(['', ...(await writtenLines())]);
  const prefill = comparesOnly ? undefined : await timeLayers(files, { backend, lengths }, outlet);
  write(options, {
    brought,
    environment,
    backend,
    reproduction,
    study,
    comparison,
    ...(prefill && { prefill }),
  });
}

function reproduce(model: PublishedModel, count: number, { progress }: Outlet): Promise<Reproduction> {
  progress.stage(`reproducing attention on ${count} sentences of Moby Dick`);
  return reproduceSentences(model, sentencesOf(model, count, shortest), (done) =>
    progress.advance(done, count),
  );
}

function studySentences(model: PublishedModel, count: number, { progress }: Outlet): Promise<ModelStudy> {
  progress.stage(`pooling, naming and silencing heads on ${count} sentences`);
  return studyModel(model, sentencesOf(model, count, shortestStudied), progress.advance);
}

function sentencesOf(model: PublishedModel, count: number, fewest: number): string[] {
  return mobyDickSentences(count, (sentence) => {
    const { tokens, unknown } = model.tokenize(sentence);
    return unknown.length === 0 && tokens.length >= fewest && tokens.length <= longest;
  });
}

interface Compared {
  readonly cases: readonly ComparisonCases[];
  readonly comparison: readonly CachedTiming[];
  readonly study: ModelStudy;
}

function printComparison({ cases, comparison, study }: Compared, { print, terminal }: Outlet): void {
  const { width } = terminal;
  print(cases.flatMap((some) => ['', ...comparisonLines(some, comparison, width)]));
  print(['', ...variantLines(study, width), '', ...headLines(study, width)]);
}

async function printMaps(model: PublishedModel, { print, terminal }: Outlet): Promise<void> {
  print(['', ...mapLines(await encoderReader(model).read('Call me Ishmael.', 2), 2, terminal)]);
}

async function timeLayers(
  files: ModelFiles,
  { backend, lengths }: { readonly backend: Backend; readonly lengths: readonly number[] },
  { print, progress, terminal }: Outlet,
): Promise<Timing[]> {
  const backends = await startFrom(backend.name);
  progress.stage(`timing prefill on ${backends.join(' and ')}, each case checked first`);
  const timings = await timePrefill(prefillCases(files, lengths), backends, progress.advance);
  print(['', ...speedLines(timings, backends, terminal.width)]);
  return timings;
}

function write({ json }: BenchOptions, result: BenchResult): void {
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(result, null, 2)}\n`);
}
