// `bench head-count`: the same width in 1 to 64 heads. Parameters and operations stay as they are; time does not.
import { registries as all, named, none, type Registries } from '../axes/registries';
import { chooseBackend } from '../backends/backend';
import type { BackendName } from '../backends/backend-name';
import { UsageError } from '../command-line/errors';
import type { Outlet } from '../command-line/outlet';
import { writeTo } from '../command-line/user-path';
import { allowRelaxedSimd } from '../gates/relaxed-simd';
import { readEnvironment } from '../measure/environment';
import { formatBytes } from '../print/byte-size';
import { environmentLines } from '../print/environment-lines';
import { count, percent, threeDigits } from '../print/format-number';
import { alignWithin } from '../print/table';
import { type Measurement, measureCells, refuseWrong, type TimeLimit } from './measure-cells';
import { measurePeak } from './peaks';
import type { CellAxes, MeasuredCell } from './result';
import { beginRun } from './run';
import { busyNote, ratioTo } from './speed-up';

export interface HeadCountOptions {
  readonly backend?: BackendName;
  readonly width: number;
  readonly tokens: number;
  /** Fewer calls. */
  readonly quick: boolean;
  readonly json?: string; // absolute path
}

const headCounts: readonly number[] = [1, 2, 4, 8, 16, 32, 64];

const layerOf = (numHeads: number) => `${numHeads} head${numHeads === 1 ? '' : 's'}`;

/** One layer a number of heads, instead of those that there are. */
export function headRegistries(width: number, registries: Registries = all): Registries {
  const [first] = registries.layers;
  const fitting = headCounts.filter((numHeads) => width % numHeads === 0);
  return {
    ...registries,
    layers: fitting.map((numHeads) => ({
      ...first!,
      name: layerOf(numHeads),
      title: `${count(width)} wide, ${layerOf(numHeads)}`,
      config: { embedDim: width, numHeads },
    })),
  };
}

const works = [
  { title: 'prefill', phase: 'prefill', kernel: 'best', cache: none },
  { title: 'by composed', phase: 'prefill', kernel: 'composed', cache: none },
  { title: 'decode', phase: 'decode', kernel: 'best', cache: 'static' },
  { title: 'training', phase: 'training', kernel: 'best', cache: none },
] as const;

/** @throws WrongResultError where a layer's numbers are wrong */
export async function countHeads(options: HeadCountOptions, outlet: Outlet): Promise<void> {
  const { width, tokens, quick, json } = options;
  const registries = headRegistries(width);
  if (registries.layers.length < 2) throw new UsageError(`--width ${width} does not divide into 2 heads`);
  const opted = allowRelaxedSimd(); // before anything looks for it
  const backend = await chooseBackend(options.backend);
  const run = beginRun('bench head-count', registries);
  const samples: TimeLimit = { seconds: quick ? 2 : 8, least: 3, most: 15 };
  const peak = await measurePeak(backend.name);
  const peaks = peak ? { [backend.name]: peak } : {};
  const parts: Measurement[] = [];
  for (const { title, ...work } of works) {
    outlet.progress.stage(`${count(width)} wide, in ${registries.layers.length} numbers of heads: ${title}`);
    const cells = registries.layers.map(
      ({ name: layer }): CellAxes => ({
        ...{ layer, variant: 'multi-head', position: none, backend: backend.name, tokens, batch: 1 },
        ...work,
      }),
    );
    parts.push(await measureCells({ cells, samples }, { registries, peaks, onRun: outlet.progress.advance }));
  }
  const measured = {
    cells: parts.flatMap(({ cells }) => cells),
    absent: parts.flatMap(({ absent }) => absent),
  };
  refuseWrong(measured);
  outlet.print([
    ...headCountLines(registries, measured, outlet.terminal.width),
    '',
    ...environmentLines(backend, readEnvironment()),
    ...(opted ? [opted] : []),
  ]);
  const result = run.result({ backends: [backend], peaks, ...measured });
  if (json !== undefined) writeTo(json, `${JSON.stringify(result, null, 2)}\n`);
}

export function headCountLines(
  { layers }: Registries,
  { cells, absent }: Measurement,
  width: number,
): string[] {
  const of = (layer: string, { phase, kernel }: Pick<CellAxes, 'phase' | 'kernel'>) =>
    cells.find((cell) => cell.layer === layer && cell.phase === phase && cell.kernel === kernel);
  const firsts = works.map((work) =>
    cells.find((cell) => cell.phase === work.phase && cell.kernel === work.kernel),
  );
  const [tokens] = cells.map((cell) => cell.tokens);
  const head = [
    ...['heads', 'head size', 'parameters', 'GFLOP'],
    ...works.map(({ title }) => `${title} ms`),
    ...['of the peak', 'peak bytes', 'by composed'],
  ];
  const rows = layers.map(({ name, config: { embedDim, numHeads } }) => {
    const [prefill, composed] = works.slice(0, 2).map((work) => of(name, work));
    return [
      `${numHeads}`,
      `${embedDim / numHeads}`,
      prefill ? count(prefill.parameters) : '–',
      prefill?.flop ? threeDigits(prefill.flop / 1e9) : '–',
      ...works.map((work, n) => shownTime(of(name, work), firsts[n])),
      prefill?.shareOfPeak === undefined ? '–' : percent(prefill.shareOfPeak),
      prefill ? formatBytes(prefill.peakBytes) : '–',
      composed ? formatBytes(composed.peakBytes) : '–',
    ];
  });
  const { embedDim } = named(layers, layers[0]!.name)!.config;
  return [
    `A causal layer ${count(embedDim)} wide, in 1 to ${layers.at(-1)!.config.numHeads} heads: ${count(tokens ?? 0)} tokens at once, and one behind as many`,
    ...alignWithin(width, [head, ...rows], { right: head.map((_, column) => column) }),
    'GFLOP: of a prompt; ms: medians, in turn (times as fast as the first), of the best kernel where none is named; of the peak: the share of what the backend was measured to reach that a prompt has; peak bytes: most of tensors at once in a prompt',
    ...busyNote(cells),
    ...absent.map(({ layer, phase, kernel, reason }) => `no ${phase} of ${layer} by ${kernel}: ${reason}`),
    'Width is what counts: parameters and operations are the same in any number of heads.',
  ];
}

function shownTime(cell: MeasuredCell | undefined, first: MeasuredCell | undefined): string {
  if (!cell || !first) return '–';
  return `${threeDigits(cell.time.median)} (${ratioTo(first, cell)})`;
}
