// Memory and speed of variants and caches, as lines that a person reads.
import type { AbsentCell, MeasuredCell } from '../matrix/result';
import { busyNote, ratioTo } from '../matrix/speed-up';
import { formatBytes } from '../print/byte-size';
import { count, threeDigits, times } from '../print/format-number';
import { alignWithin } from '../print/table';
import type { ComparisonCases } from './cases';

/** The tables of one layer, as full as `width` allows. */
export function comparisonLines(
  cases: ComparisonCases,
  { cells, absent }: { readonly cells: readonly MeasuredCell[]; readonly absent: readonly AbsentCell[] },
  width: number,
): string[] {
  const ofLayer = cells.filter(({ layer }) => layer === cases.shape.name);
  const [prefill, decode] = (['prefill', 'decode'] as const).map((name) =>
    ofLayer.filter(({ phase }) => phase === name),
  );
  const { embedDim: E, numHeads } = cases.shape.config;
  return [
    `${cases.shape.title}: ${count(E)} wide, ${numHeads} heads × ${E / numHeads}, causal`,
    ...byteLines(cases, decode!, width),
    ...(prefill!.length > 0 ? prefillLines(cases, prefill!, width) : []),
    ...decodeLines(cases, decode!, width),
    ...noteLines(cases, ofLayer),
    ...absent
      .filter(({ layer }) => layer === cases.shape.name)
      .map(
        ({ variant, cache, kernel, phase, reason }) =>
          `no ${phase} of ${variant}, ${cache}, ${kernel}: ${reason}`,
      ),
  ];
}

/** In the first cache. */
function byteLines(
  { variants, caches, tokens }: ComparisonCases,
  decode: readonly MeasuredCell[],
  width: number,
) {
  const longest = Math.max(...tokens);
  const rows = variants.flatMap((variant) => {
    const cell = decode.find(isLike({ variant: variant.name, cache: caches[0]!.name, tokens: longest }));
    if (!cell) return [];
    const { keyValueHeads, cacheBytes, batch } = cell;
    return [{ variant: variant.name, keyValueHeads, bytes: cacheBytes!.allocated / batch }];
  });
  return [
    'Keys and values, predicted and allocated, of one sequence',
    ...alignWithin(
      width,
      [
        ['variant', 'K/V heads', 'a token', `${count(longest)} tokens`, 'fewer'],
        ...rows.map(({ variant, keyValueHeads, bytes }) => [
          variant,
          `${keyValueHeads}`,
          formatBytes(bytes / longest),
          formatBytes(bytes),
          times(rows[0]!.bytes / bytes),
        ]),
      ],
      { right: [1, 2, 3, 4] },
    ),
  ];
}

/** One row a variant and kernel: what a prompt takes, and what part of the machine that is. */
function prefillLines({ variants }: ComparisonCases, cells: readonly MeasuredCell[], width: number) {
  const [{ tokens, cache }] = cells as [MeasuredCell];
  const head = ['variant', 'ms', 'times as fast', '10th–90th', 'first', 'GFLOP/s', 'of peak', 'peak bytes'];
  const rows = cells.map((cell) => [
    labelOf(cell, cells[0]!),
    threeDigits(cell.time.median),
    ratioTo(cells[0]!, cell),
    `${threeDigits(cell.time.p10)}–${threeDigits(cell.time.p90)}`,
    threeDigits(cell.first),
    cell.gflops === undefined ? '–' : threeDigits(cell.gflops),
    cell.shareOfPeak === undefined ? '–' : `${Math.round(100 * cell.shareOfPeak)} %`,
    formatBytes(cell.peakBytes),
  ]);
  return [
    '',
    `Prefill of ${count(tokens)} tokens into the ${cache} cache, beside ${variants[0]!.name}`,
    ...alignWithin(width, [head, ...rows], { right: head.map((_, column) => column).slice(1) }),
  ];
}

/** One row a layer and cache. */
function decodeLines(
  { variants, caches, batches, tokens }: ComparisonCases,
  cells: readonly MeasuredCell[],
  width: number,
): string[] {
  const columns = batches.flatMap((batch) => tokens.map((length) => ({ batch, tokens: length })));
  const head = ['variant', 'cache', ...columns.map((column) => `${column.batch} × ${count(column.tokens)}`)];
  const rows = layersOf(cells).flatMap(({ label, variant, kernel }) =>
    caches
      .filter(({ name: cache }) => cells.some(isLike({ variant, kernel, cache })))
      .map(({ name: cache }) => [
        label,
        cache,
        ...columns.map((column) => {
          const cell = cells.find(isLike({ variant, kernel, cache, ...column }));
          const first = cells.find(
            isLike({ variant: variants[0]!.name, kernel: cells[0]!.kernel, cache, ...column }),
          );
          if (!cell || !first) return '–';
          return `${threeDigits(cell.tokensPerSecond)} (${ratioTo(first, cell)})`;
        }),
      ]),
  );
  return [
    '',
    `Decoding: tokens a second (times as fast as ${variants[0]!.name}), by batch × tokens in the cache`,
    ...alignWithin(width, [head, ...rows], { right: head.map((_, column) => column).slice(2), kept: 2 }),
  ];
}

/** Each variant and kernel that was measured. */
function layersOf(cells: readonly MeasuredCell[]) {
  const labels = new Map(
    cells.map((cell) => {
      const { variant, kernel } = cell;
      return [`${variant}, ${kernel}`, { label: labelOf(cell, cells[0]!), variant, kernel }];
    }),
  );
  return [...labels.values()];
}

/** Only a kernel other than the first's is named. */
const labelOf = ({ variant, kernel, ran }: MeasuredCell, first: MeasuredCell) =>
  kernel === first.kernel ? variant : `${variant}, ${ran}`;

const isLike = (wanted: Partial<MeasuredCell>) => (cell: MeasuredCell) =>
  Object.entries(wanted).every(([name, value]) => cell[name as keyof MeasuredCell] === value);

function noteLines({ shape, leftOut, caches }: ComparisonCases, cells: readonly MeasuredCell[]): string[] {
  if (cells.length === 0) return [];
  const error = Math.max(...cells.map((cell) => cell.error));
  const samples = cells.map(({ time }) => time.samples);
  const [fewest, most] = [Math.min(...samples), Math.max(...samples)];
  const lossy = cells.find(({ storageError }) => storageError !== undefined);
  return [
    `kernel ${cells[0]!.ran}, where no other is named`,
    `medians of ${fewest === most ? most : `${fewest} to ${most}`} runs, in turn; largest difference to doubles ${error.toExponential(0)}`,
    ...busyNote(cells),
    ...(lossy ? ['a cache of fewer bits is held to the numbers that it keeps'] : []),
    ...caches.map(({ name, writes }) => `${name}: ${writes()}`),
    ...leftOut.map((variant) => `no ${variant.name}: ${variant.unfit(shape.config)}`),
  ];
}
