// `bench compare A.json B.json`: what became slower, and by how much more than the runs of each differ among themselves.
import { formatBytes } from '../print/byte-size';
import { count, threeDigits } from '../print/format-number';
import { alignWithin } from '../print/table';
import type { MatrixResult, MeasuredCell, Times } from './result';
import { speedUp } from './speed-up';

export interface Change {
  readonly before: MeasuredCell;
  readonly after: MeasuredCell;
  /** The median after over that before: of processor time where one was measured on a busy machine. */
  readonly ratio: number;
  /** The medians differ by more than their own uncertainty. */
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
  /** Cells of one result alone, and those that the second no longer has. */
  readonly onlyBefore: readonly string[];
  readonly onlyAfter: readonly string[];
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
  const missing = (from: ReadonlyMap<string, unknown>, to: ReadonlyMap<string, unknown>) =>
    [...from.keys()].filter((id) => !to.has(id));
  const beyond = changes.filter(({ ratio }) => ratio > 1 + bound).sort((a, b) => b.ratio - a.ratio);
  return {
    slower: beyond.filter(({ certain }) => certain),
    unsure: beyond.filter(({ certain }) => !certain),
    faster: changes.filter(({ ratio, certain }) => certain && ratio < 1 / (1 + bound)),
    larger: changes.filter(isLarger),
    compared: changes.length,
    onlyBefore: missing(earlier!, later!),
    onlyAfter: missing(later!, earlier!),
  };
}

const idOf = (cell: MeasuredCell) => [cell.turns ?? '', nameOf(cell)].join(': ');

function changeOf(before: MeasuredCell, after: MeasuredCell): Change {
  const [low, high] = notch(after.time);
  const [earlierLow, earlierHigh] = notch(before.time);
  return {
    ...{ before, after, ratio: speedUp(after, before) },
    certain: low > earlierHigh || high < earlierLow,
  };
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
  const { slower, unsure, faster, larger, compared, onlyBefore, onlyAfter } = comparison;
  const percent = `${Number((100 * bound).toFixed(2))} %`;
  const lists = [
    [`slower by more than ${percent}`, slower],
    [`slower by more than ${percent}, but no more than runs differ among themselves`, unsure],
    [`faster by more than ${percent}`, faster],
  ] as const;
  return [
    `${count(compared)} cells compared: ${slower.length} slower by more than ${percent}, ${unsure.length} unsure, ${faster.length} faster`,
    ...lists.flatMap(([title, changes]) =>
      changes.length > 0 ? ['', title, ...timeLines(changes, width)] : [],
    ),
    ...(larger.length > 0 ? ['', 'more bytes', ...larger.map(bytesLine)] : []),
    ...([...slower, ...unsure, ...faster].some(({ before, after }) => before.busy || after.busy)
      ? ['≈: measured on a busy machine: ratios of processor time, where one thread computed']
      : []),
    ...countLine('only in the first', onlyBefore),
    ...countLine('only in the second', onlyAfter),
  ];
}

function timeLines(changes: readonly Change[], width: number): string[] {
  const rows = changes.map(({ before, after, ratio }) => [
    nameOf(after),
    timesOf(before),
    timesOf(after),
    `${before.busy || after.busy ? '≈' : ''}${ratio.toFixed(2)} ×`,
  ]);
  return alignWithin(width, [['cell', 'before ms (10th–90th)', 'after ms (10th–90th)', 'time'], ...rows], {
    right: [1, 2, 3],
  });
}

const timesOf = ({ time: { median, p10, p90 } }: MeasuredCell) =>
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
function nameOf({
  phase,
  layer,
  variant,
  position,
  kernel,
  cache,
  backend,
  tokens,
  batch,
}: MeasuredCell): string {
  const parts = [
    ...[phase, layer, variant, kernel],
    ...(position === 'none' ? [] : [position]),
    ...(cache === 'none' ? [] : [`${cache} cache`]),
    ...[backend, `${batch} × ${count(tokens)}`],
  ];
  return parts.join(', ');
}

function countLine(where: string, ids: readonly string[]): string[] {
  if (ids.length === 0) return [];
  const shown = ids.slice(0, 3).map((id) => id.replace(/^: /, ''));
  return [`${where}: ${ids.length}, ${shown.join('; ')}${ids.length > shown.length ? '; …' : ''}`];
}

/** What the two results were measured with, where that is not the same: then times say less. */
export function differenceLines(before: MatrixResult, after: MatrixResult): string[] {
  const facts = ({ machine, versions, load, command }: MatrixResult) => ({
    command,
    processor: machine.cpu,
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
