// `bench compare A.json B.json`: what became slower, and by how much more than the runs of each differ among themselves.
import { formatBytes } from '../print/byte-size';
import { count, threeDigits } from '../print/format-number';
import { alignWithin } from '../print/table';
import type { AbsentCell, MatrixResult, MeasuredCell, Times } from './result';
import { isBusy } from './speed-up';

/** Where a cell stands, and the comparison whose turns it took. */
type Place = Omit<AbsentCell, 'why' | 'reason'>;

export interface Change {
  readonly before: MeasuredCell;
  readonly after: MeasuredCell;
  /** What is compared: by the clock, or of the processor where one was measured on a busy machine. */
  readonly times: readonly [before: Times, after: Times];
  /** The median after over that before. */
  readonly ratio: number;
  /** The medians differ by more than their own uncertainty, and are not those of a busy machine's clock. */
  readonly certain: boolean;
}

export interface ResultComparison {
  /** Slower by more than the bound, and certainly so: what fails. */
  readonly slower: readonly Change[];
  /** By more than the bound, too, but no more than runs differ. */
  readonly unsure: readonly Change[];
  readonly faster: readonly Change[];
  /** More bytes of cache, or at their peak. */
  readonly larger: readonly Change[];
  readonly compared: number;
  /** Cells of one result alone. */
  readonly onlyBefore: readonly MeasuredCell[];
  readonly onlyAfter: readonly MeasuredCell[];
  /** Those of the first that the second could not measure, with the reason. */
  readonly lost: readonly AbsentCell[];
}

/** @param bound by which share of its time a cell may become slower */
export function compareResults(before: MatrixResult, after: MatrixResult, bound: number): ResultComparison {
  const [earlier, later] = [before, after].map(
    ({ cells }) => new Map(cells.map((cell) => [idOf(cell), cell])),
  );
  const changes = [...earlier!].flatMap(([id, cell]): Change[] => {
    const other = later!.get(id);
    return other ? [changeOf(cell, other)] : [];
  });
  const missing = (from: ReadonlyMap<string, MeasuredCell>, to: ReadonlyMap<string, unknown>) =>
    [...from].filter(([id]) => !to.has(id)).map(([, cell]) => cell);
  const lost = after.absent.filter((cell) => earlier!.has(idOf(cell)));
  const lostIds = new Set(lost.map(idOf));
  const beyond = changes.filter(({ ratio }) => ratio > 1 + bound).sort((a, b) => b.ratio - a.ratio);
  return {
    slower: beyond.filter(({ certain }) => certain),
    unsure: beyond.filter(({ certain }) => !certain),
    faster: changes
      .filter(({ ratio, certain }) => certain && ratio < 1 / (1 + bound))
      .sort((a, b) => a.ratio - b.ratio),
    larger: changes.filter(isLarger),
    compared: changes.length,
    onlyBefore: missing(earlier!, later!).filter((cell) => !lostIds.has(idOf(cell))),
    onlyAfter: missing(later!, earlier!),
    lost,
  };
}

const idOf = (cell: Place) => [cell.turns ?? '', nameOf(cell)].join(': ');

function changeOf(before: MeasuredCell, after: MeasuredCell): Change {
  const busy = isBusy([before, after]);
  const ofProcessor = [before, after].map(processorTimes).filter((times) => times !== undefined);
  const byProcessor = busy && ofProcessor.length === 2;
  const times = (byProcessor ? ofProcessor : [before.time, after.time]) as [before: Times, after: Times];
  const [[earlierLow, earlierHigh], [low, high]] = [notch(times[0]), notch(times[1])];
  return {
    ...{ before, after, times, ratio: times[1].median / times[0].median },
    certain: (!busy || byProcessor) && (low > earlierHigh || high < earlierLow),
  };
}

/** Of results that have no spread of it, with that of the clock. */
function processorTimes({ processorTime: median, processorSpread, time }: MeasuredCell): Times | undefined {
  if (!median) return undefined;
  const share = median / time.median;
  const { p10, p25, p75, p90 } = time;
  const ofClock = { p10: share * p10, p25: share * p25, p75: share * p75, p90: share * p90 };
  return { samples: time.samples, median, ...(processorSpread ?? ofClock) };
}

/**
 * Where the median of many such runs would lie: two medians whose intervals do not meet differ, 95 times of 100 (McGill,
 * Tukey and Larsen 1978).
 */
function notch({ median, p25, p75, samples }: Times): readonly [number, number] {
  const half = (1.57 * (p75 - p25)) / Math.sqrt(samples);
  return [median - half, median + half];
}

const isLarger = ({ before, after }: Change) =>
  after.peakBytes > before.peakBytes || (after.cacheBytes?.held ?? 0) > (before.cacheBytes?.held ?? 0);

/** Tables of what changed; nothing else is worth a line. */
export function changeLines(
  comparison: ResultComparison,
  { bound, width }: { readonly bound: number; readonly width: number },
): string[] {
  const { slower, unsure, faster, larger, compared, onlyBefore, onlyAfter, lost } = comparison;
  const percent = `${Number((100 * bound).toFixed(2))} %`;
  const lists = [
    [`slower by more than ${percent}`, slower],
    [`slower by more than ${percent}, but no more than runs or a busy machine differ`, unsure],
    [`faster by more than ${percent}`, faster],
  ] as const;
  return [
    `${count(compared)} cells compared: ${slower.length} slower by more than ${percent}, ${unsure.length} unsure, ${faster.length} faster`,
    ...lists.flatMap(([title, changes]) =>
      changes.length > 0 ? ['', title, ...timeLines(changes, width)] : [],
    ),
    ...(larger.length > 0 ? ['', 'more bytes', ...larger.map(bytesLine)] : []),
    ...([...slower, ...unsure, ...faster].some(({ before, after }) => before.busy || after.busy)
      ? ['≈: measured on a busy machine: processor time, where one thread computed, else unsure']
      : []),
    ...lost.map((cell) => `no longer measured: ${nameOf(cell)}: ${cell.reason}`),
    ...countLine('only in the first', onlyBefore),
    ...countLine('only in the second', onlyAfter),
  ];
}

function timeLines(changes: readonly Change[], width: number): string[] {
  const rows = changes.map(({ before, after, times: [earlier, later], ratio }) => [
    nameOf(after),
    shownTimes(earlier),
    shownTimes(later),
    `${before.busy || after.busy ? '≈' : ''}${ratio.toFixed(2)} ×`,
  ]);
  return alignWithin(width, [['cell', 'before ms (10th–90th)', 'after ms (10th–90th)', 'time'], ...rows], {
    right: [1, 2, 3],
  });
}

const shownTimes = ({ median, p10, p90 }: Times) =>
  `${threeDigits(median)} (${threeDigits(p10)}–${threeDigits(p90)})`;

function bytesLine({ before, after }: Change): string {
  const parts = [
    ...(after.peakBytes > before.peakBytes
      ? [`${formatBytes(before.peakBytes)} → ${formatBytes(after.peakBytes)} at their peak`]
      : []),
    ...((after.cacheBytes?.held ?? 0) > (before.cacheBytes?.held ?? 0)
      ? [`${formatBytes(before.cacheBytes!.held)} → ${formatBytes(after.cacheBytes!.held)} of cache`]
      : []),
  ];
  return `${nameOf(after)}: ${parts.join(', ')}`;
}

/** Its place, without what it does not have. */
function nameOf({ phase, layer, variant, position, kernel, cache, backend, tokens, batch }: Place): string {
  const parts = [
    ...[phase, layer, variant, kernel],
    ...(position === 'none' ? [] : [position]),
    ...(cache === 'none' ? [] : [`${cache} cache`]),
    ...[backend, `${batch} × ${count(tokens)}`],
  ];
  return parts.join(', ');
}

function countLine(where: string, cells: readonly Place[]): string[] {
  if (cells.length === 0) return [];
  const shown = cells.slice(0, 3).map((cell) => (cell.turns ? `${cell.turns}: ` : '') + nameOf(cell));
  return [`${where}: ${cells.length}, ${shown.join('; ')}${cells.length > shown.length ? '; …' : ''}`];
}

/** What the two results were measured with, where that is not the same: then times say less. */
export function differenceLines(before: MatrixResult, after: MatrixResult): string[] {
  const facts = ({ machine, versions, load, command, backends }: MatrixResult) => ({
    command,
    processor: `${machine.cpu}, ${machine.cores} cores`,
    backends: backends.map(({ name, device }) => `${name} (${device})`).join(', '),
    'TensorFlow.js': versions.tfjs,
    Node: versions.node,
    commit: versions.commit ?? 'none',
    'busy machine': load.busy ? `${Math.round(100 * load.processorShare)} % of a processor was had` : 'no',
  });
  const [first, second] = [facts(before), facts(after)];
  return Object.entries(first).flatMap(([name, value]) => {
    const other = second[name as keyof typeof second];
    return value === other ? [] : [`${name}: ${value} → ${other}`];
  });
}
