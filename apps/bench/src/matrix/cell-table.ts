// Cells that took turns, as a table: what they differ in, and what each took.
import { formatBytes } from '../print/byte-size';
import { count, percent, threeDigits } from '../print/format-number';
import { alignWithin } from '../print/table';
import type { AbsentCell, CellAxes, MeasuredCell } from './result';
import { busyNote, ratioTo } from './speed-up';

const axes = [
  ...(['layer', 'variant', 'position', 'kernel', 'cache', 'backend', 'phase', 'tokens', 'batch'] as const),
];

/** One row a cell; the first is what the others are compared with. */
export function cellLines(
  title: string,
  { cells, absent }: { readonly cells: readonly MeasuredCell[]; readonly absent: readonly AbsentCell[] },
  width: number,
): string[] {
  const missing = absent.map((cell) => `no ${describe(cell, [...cells, ...absent])}: ${cell.reason}`);
  const [first] = cells;
  if (!first) return [title, ...missing];
  const varied = axes.filter((axis) => cells.some((cell) => cell[axis] !== first[axis]));
  const columns = varied.length === 0 ? (['variant'] as const) : varied;
  const head = [
    ...columns,
    ...['ms', 'times as fast', '10th–90th', 'first', 'tokens/s', 'GFLOP/s', 'of peak', 'of memory'],
    ...['peak bytes', 'cache', 'error'],
  ];
  const rows = cells.map((cell) => [
    ...columns.map((axis) => shownOn(cell, axis)),
    threeDigits(cell.time.median),
    ratioTo(first, cell),
    `${threeDigits(cell.time.p10)}–${threeDigits(cell.time.p90)}`,
    threeDigits(cell.first),
    threeDigits(cell.tokensPerSecond),
    orDash(cell.gflops, threeDigits),
    orDash(cell.shareOfPeak, percent),
    orDash(cell.shareOfBandwidth, percent),
    formatBytes(cell.peakBytes),
    orDash(cell.cacheBytes?.held, formatBytes),
    cell.error.toExponential(0),
  ]);
  const kept = columns.length;
  const right = head.map((_, column) => column).filter((column) => column >= kept);
  return [
    `${title}: ${describe(first, [])}`,
    ...alignWithin(width, [head, ...rows], { right, kept }),
    ...busyNote(cells),
    ...missing,
  ];
}

/** The kernel that ran, where it was chosen for the call. */
function shownOn(cell: MeasuredCell, axis: (typeof axes)[number]): string {
  if (axis === 'kernel' && cell.kernel === 'best') return `best: ${cell.ran}`;
  const value = cell[axis];
  return typeof value === 'number' ? count(value) : value;
}

/** All axes, or those in which it differs from any of the others. */
function describe(cell: CellAxes, others: readonly CellAxes[]): string {
  const named = axes.filter(
    (axis) => others.length === 0 || others.some((other) => other[axis] !== cell[axis]),
  );
  const words = named.map((axis) => {
    const value = cell[axis];
    if (axis === 'tokens' || axis === 'batch')
      return axis === 'tokens' ? `${value} tokens` : `batch ${value}`;
    if (axis === 'layer' || axis === 'variant' || axis === 'backend' || axis === 'phase') return `${value}`;
    return `${axis} ${value}`;
  });
  return words.join(', ');
}

const orDash = (value: number | undefined, show: (value: number) => string) =>
  value === undefined ? '–' : show(value);
