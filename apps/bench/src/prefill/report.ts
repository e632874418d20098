// Prefill on each backend, as lines that a person reads.
import type { BackendName } from '../backends/backend-name';
import { count } from '../print/format-number';
import { alignColumns } from '../print/table';
import { layerNotes } from './cases';
import type { Timing } from './speed';

/**
 * One row a layer and length, one column a backend, and how many times slower the last backend is than the first.
 * Where `width` does not hold the percentiles, medians alone.
 */
export function speedLines(
  timings: readonly Timing[],
  backends: readonly BackendName[],
  width: number,
): string[] {
  const compares = backends.length > 1;
  const head = [
    'layer',
    'tokens',
    ...backends.map((name) => `${name} ms`),
    ...(compares ? [`${backends.at(-1)} / ${backends[0]}`] : []),
    'error',
  ];
  const table = (showTime: (timing: Timing) => string) => {
    const rows = casesOf(timings).map((row) => {
      const times = backends.map((name) => row.find(({ backend }) => backend === name));
      const [first, last] = [times[0], times.at(-1)];
      const ratio = first && last ? `${(last.median / first.median).toFixed(1)} ×` : '–';
      return [
        row[0]!.layer,
        count(row[0]!.length),
        ...times.map((timing) => (timing ? showTime(timing) : '–')),
        ...(compares ? [ratio] : []),
        Math.max(...row.map(({ error }) => error)).toExponential(0),
      ];
    });
    return alignColumns([head, ...rows], head.map((_, column) => column).slice(1));
  };
  const full = table(
    ({ median, p10, p90 }) => `${milliseconds(median)} (${milliseconds(p10)}–${milliseconds(p90)})`,
  );
  const fits = full.every((line) => line.length <= width);
  const runs = timings.map(({ samples }) => samples);
  const [fewest, most] = [Math.min(...runs), Math.max(...runs)];
  return [
    `Prefill of one sequence: median${fits ? ' (10th–90th percentile)' : ''} of ${fewest === most ? most : `${fewest} to ${most}`} runs`,
    ...(fits ? full : table(({ median }) => milliseconds(median))),
    ...layerNotes,
    'error: largest difference to the same layer in doubles, as a share of its largest output',
  ];
}

/** What was timed of each layer and length, in order. */
function casesOf(timings: readonly Timing[]): readonly Timing[][] {
  const cases = new Map<string, Timing[]>();
  for (const timing of timings) {
    const key = `${timing.layer}, ${timing.length}`;
    cases.set(key, [...(cases.get(key) ?? []), timing]);
  }
  return [...cases.values()];
}

const milliseconds = (ms: number) => (ms < 10 ? ms.toFixed(2) : ms.toFixed(0));
