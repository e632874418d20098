// Prefill on each backend, as lines that a person reads.
import type { MeasuredCell } from '../matrix/result';
import { busyNote, isBusy, speedUp } from '../matrix/speed-up';
import { count } from '../print/format-number';
import { alignColumns } from '../print/table';

/**
 * One row a length, one column a backend, and how many times slower the last backend is than the first. Where `width` does
 * not hold the percentiles, medians alone.
 */
export function prefillLines(cells: readonly MeasuredCell[], width: number): string[] {
  const backends = [...new Set(cells.map(({ backend }) => backend))];
  const lengths = [...new Set(cells.map(({ tokens }) => tokens))];
  const compares = backends.length > 1;
  const head = [
    'tokens',
    ...backends.map((name) => `${name} ms`),
    ...(compares ? [`${backends.at(-1)} / ${backends[0]}`] : []),
    'error',
  ];
  const table = (showTime: (cell: MeasuredCell) => string) => {
    const rows = lengths.map((tokens) => {
      const times = backends.map((name) =>
        cells.find((cell) => cell.backend === name && cell.tokens === tokens),
      );
      const [first, last] = [times[0], times.at(-1)];
      const mark = isBusy(cells) ? '≈' : '';
      const ratio = first && last ? `${mark}${speedUp(last, first).toFixed(1)} ×` : '–';
      return [
        count(tokens),
        ...times.map((cell) => (cell ? showTime(cell) : '–')),
        ...(compares ? [ratio] : []),
        Math.max(...times.map((cell) => cell?.error ?? 0)).toExponential(0),
      ];
    });
    return alignColumns(
      [head, ...rows],
      head.map((_, column) => column),
    );
  };
  const full = table(
    ({ time: { median, p10, p90 } }) => `${milliseconds(median)} (${milliseconds(p10)}–${milliseconds(p90)})`,
  );
  const fits = full.every((line) => line.length <= width);
  const runs = cells.map(({ time }) => time.samples);
  const [fewest, most] = [Math.min(...runs), Math.max(...runs)];
  return [
    `Prefill of one sequence, 512 wide, 8 heads × 64, causal: median${fits ? ' (10th–90th percentile)' : ''} of ${fewest === most ? most : `${fewest} to ${most}`} runs`,
    ...(fits ? full : table(({ time: { median } }) => milliseconds(median))),
    ...busyNote(cells),
    'error: largest difference to the same layer in doubles, as a share of its largest output',
  ];
}

const milliseconds = (ms: number) => (ms < 10 ? ms.toFixed(2) : ms.toFixed(0));
