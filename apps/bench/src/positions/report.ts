// Position methods beside none, as lines that a person reads.
import { headDimOf, type PositionShape } from '../axes/positions';
import type { AbsentCell, MeasuredCell } from '../matrix/result';
import { busyNote, timesAsLong } from '../matrix/speed-up';
import { formatBytes } from '../print/byte-size';
import { count, percent, threeDigits } from '../print/format-number';
import { alignWithin } from '../print/table';
import type { PositionFacts } from './compare-positions';
import { naiveBytes } from './memory';

export interface ComparedPositions {
  /** None first. */
  readonly positions: readonly PositionFacts[];
  readonly cells: readonly MeasuredCell[];
  readonly absent: readonly AbsentCell[];
}

export function positionLines(
  shape: PositionShape,
  { positions, cells, absent }: ComparedPositions,
  width: number,
): string[] {
  const { embedDim, numHeads, longest } = shape;
  const of = (name: string) => cells.filter(({ position }) => position === name);
  const works = of('none');
  const naive = naiveBytes(shape);
  const titles = works.map(({ phase, tokens }) => `${phase} ${count(tokens)} ms`);
  const head = ['method', 'parameters', 'tables', ...titles, 'peak', 'one head', 'of naive'];
  const rows = positions.map(({ name, parameters, tableBytes, peakBytes, headPeakBytes }) => [
    name,
    count(parameters),
    formatBytes(tableBytes),
    ...works.map((first) => {
      const cell = of(name).find(({ phase, tokens }) => phase === first.phase && tokens === first.tokens);
      return cell ? `${threeDigits(cell.time.median)} (${timesAsLong(first, cell)})` : '–';
    }),
    formatBytes(peakBytes),
    formatBytes(headPeakBytes),
    percent(headPeakBytes / naive),
  ]);
  return [
    `Position methods in a causal layer ${count(embedDim)} wide, ${numHeads} heads × ${headDimOf(shape)}`,
    ...alignWithin(width, [head, ...rows], { right: head.map((_, column) => column).slice(1) }),
    `medians of ${works[0]!.time.samples} runs, in turn (times as long as none); decode: one step, the last of these tokens, static cache; kernel ${works[0]!.ran}`,
    ...busyNote(cells),
    `tables: by distance, or angles, for ${count(longest)} tokens; peak: most bytes of tensors at once in one forward pass of them, of all heads and of a layer with one`,
    `naive: a vector for each of ${count(longest)} × ${count(longest)} pairs, ${formatBytes(naive)}; with one head ${verdict(positions, naive)}`,
    `largest difference to doubles ${Math.max(...cells.map(({ error }) => error)).toExponential(0)}, of a step to one pass included`,
    ...absent.map(({ position, phase, reason }) => `no ${phase} with ${position}: ${reason}`),
    ...positions.flatMap(({ name, note }) => (note ? [`${name}: ${note}`] : [])),
  ];
}

function verdict(positions: readonly PositionFacts[], naive: number): string {
  const above = positions.filter(({ headPeakBytes }) => headPeakBytes >= naive / 10).map(({ name }) => name);
  return above.length === 0
    ? 'every peak is below a tenth of it'
    : `a tenth or more of it: ${above.join(', ')}`;
}
