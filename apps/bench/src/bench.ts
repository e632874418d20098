// The main job: the published model reproduced and studied, variants and caches compared, one sentence drawn, layers timed.
import { encoderReader } from './attention/encoder-reader';
import { readText } from './attention/reader';
import { mapLines } from './attention/text-maps';
import { type Backend, chooseBackend, startFrom } from './backends/backend';
import type { BackendName } from './backends/backend-name';
import { WrongResultError } from './command-line/errors';
import type { Outlet } from './command-line/outlet';
import { writeTo } from './command-line/user-path';
import { type ComparisonCases, type ComparisonChoice, comparisonCases } from './compare/cases';
import { compareVariants } from './compare/comparison';
import { comparisonLines } from './compare/report';
import { broughtLines, whatItBrings } from './compare/what-it-brings';
import { allowRelaxedSimd } from './gates/relaxed-simd';
import { type Measurement, measureCells, refuseWrong } from './matrix/measure-cells';
import { measurePeak, type Peaks } from './matrix/peaks';
import type { MatrixResult } from './matrix/result';
import { beginRun } from './matrix/run';
import { readEnvironment } from './measure/environment';
import { writtenLines } from './model/own/written';
import { prefillCells, prefillSamples } from './prefill/cells';
import { prefillLines } from './prefill/report';
import { environmentLines } from './print/environment-lines';
import { loadPublishedModel, type PublishedModel } from './published/model';
import { readModelFiles } from './published/model-files';
import { measureSections } from './report/measure-sections';
import { reportPage } from './report/report-page';
import type { ModelStudy } from './reproduce/model-study';
import { reproducePublished, studyPublished } from './reproduce/published-sentences';
import { headline, reproductionLines } from './reproduce/report';
import { wrongParts } from './reproduce/reproduction';
import { headLines, variantLines } from './reproduce/study-report';

export interface BenchOptions {
  readonly backend?: BackendName;
  readonly quick: boolean;
  /** Which variants, caches and sizes are compared. Where any is chosen, nothing is drawn, and prefill is left out. */
  readonly choice: ComparisonChoice;
  readonly json?: string; // absolute path
  /** Where the report goes; an absolute path. */
  readonly html?: string;
}

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
  const opted = allowRelaxedSimd(); // before anything looks for it
  const backend = await chooseBackend(options.backend);
  const run = beginRun(quick ? 'bench --quick' : 'bench');
  const cases = comparisonCases(choice, { backend: backend.name, quick });
  const { comparesOnly, lengths, ...counts } = sizes(backend, options);
  outlet.progress.stage('reading the model');
  const model = await loadPublishedModel(readModelFiles());

  const reproduction = await reproducePublished(model, counts.sentences, outlet.progress);
  const proof = [
    headline(reproduction),
    '',
    ...environmentLines(backend, readEnvironment()),
    ...(opted ? [opted] : []),
    '',
    ...reproductionLines(reproduction),
  ];
  const wrong = wrongParts(reproduction);
  if (wrong.length > 0) {
    outlet.print(proof);
    throw new WrongResultError(wrong.join('\n'));
  }
  const study = await studyPublished(model, counts.studied, outlet.progress);
  const peak = await measurePeak(backend.name);
  const peaks = peak ? { [backend.name]: peak } : {};
  const comparison = await compareVariants(cases, backend.name, { peaks, progress: outlet.progress });
  refuseWrong(comparison);
  const brought = whatItBrings(cases.at(-1)!, comparison.cells);
  outlet.print([...broughtLines(brought, backend.name, outlet.terminal.width), '', ...proof]);
  printComparison({ cases, comparison, study }, outlet);

  if (!comparesOnly) await printMaps(model, outlet);
  const seen = options.html === undefined ? {} : await measureSections(model, { quick, ...outlet });
  model.dispose();
  if (!comparesOnly) outlet.print(['', ...(await writtenLines())]);
  const prefill = comparesOnly ? nothing : await timeBackends(backend, { lengths, peaks }, outlet);
  write(
    options,
    run.result(
      {
        backends: [backend],
        peaks,
        cells: [...comparison.cells, ...prefill.cells],
        absent: [...comparison.absent, ...prefill.absent],
      },
      { brought, reproduction, study, ...seen },
    ),
  );
}

const nothing: Measurement = { cells: [], absent: [] };

interface Compared {
  readonly cases: readonly ComparisonCases[];
  readonly comparison: Measurement;
  readonly study: ModelStudy;
}

function printComparison({ cases, comparison, study }: Compared, { print, terminal }: Outlet): void {
  const { width } = terminal;
  print(cases.flatMap((some) => ['', ...comparisonLines(some, comparison, width)]));
  print(['', ...variantLines(study, width), '', ...headLines(study, width)]);
}

async function printMaps(model: PublishedModel, { print, terminal }: Outlet): Promise<void> {
  print(['', ...mapLines(await readText(encoderReader(model), 'Call me Ishmael.', 2), 2, terminal)]);
}

async function timeBackends(
  backend: Backend,
  { lengths, peaks }: { readonly lengths: readonly number[]; readonly peaks: Peaks },
  { print, progress, terminal }: Outlet,
): Promise<Measurement> {
  const backends = await startFrom(backend.name);
  progress.stage(`timing prefill on ${backends.join(' and ')}, each case checked first`);
  const cells = prefillCells(backends, lengths);
  const measured = await measureCells({ cells, samples: prefillSamples }, { peaks, onRun: progress.advance });
  refuseWrong(measured);
  print(['', ...prefillLines(measured.cells, terminal.width)]);
  return measured;
}

function write({ json, html }: BenchOptions, result: MatrixResult): void {
  if (json !== undefined) writeTo(json, `${JSON.stringify(result, null, 2)}\n`);
  if (html !== undefined) writeTo(html, reportPage(result));
}
