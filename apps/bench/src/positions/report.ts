// Position methods beside none, as lines that a person reads.
import { formatBytes } from '../print/byte-size';
import { count, percent, threeDigits } from '../print/format-number';
import { alignWithin } from '../print/table';
import { naiveBytes, type PositionMemory } from './memory';
import { headDimOf, type PositionShape } from './methods';
import type { PositionTiming, TimedWork } from './speed';

/** What is known of a method. */
export type ComparedPosition = PositionTiming & PositionMemory & { readonly note?: string };

export function positionLines(
  shape: PositionShape,
  positions: readonly ComparedPosition[],
  width: number,
): string[] {
  const { embedDim, numHeads, longest } = shape;
  const [none] = positions;
  const works = none!.work;
  const naive = naiveBytes(shape);
  const head = ['method', 'parameters', 'tables', ...works.map(titleOf), 'peak', 'one head', 'of naive'];
  const rows = positions.map(({ name, parameters, tableBytes, peakBytes, headPeakBytes, work }) => [
    name,
    count(parameters),
    formatBytes(tableBytes),
    ...work.map(({ median, timesNone }) => `${threeDigits(median)} (${timesNone.toFixed(2)} ×)`),
    formatBytes(peakBytes),
    formatBytes(headPeakBytes),
    percent(headPeakBytes / naive),
  ]);
  return [
    `Position methods in a causal layer ${count(embedDim)} wide, ${numHeads} heads × ${headDimOf(shape)}`,
    ...alignWithin(width, [head, ...rows], { right: head.map((_, column) => column).slice(1) }),
    `medians of ${works[0]!.samples} runs, in turn (times as long as none); decode: one step, the last of these tokens, static cache`,
    `tables: by distance, or angles, for ${count(longest)} tokens; peak: most bytes of tensors at once in one forward pass of them, of all heads and of a layer with one`,
    `naive: a vector for each of ${count(longest)} × ${count(longest)} pairs, ${formatBytes(naive)}; with one head ${verdict(positions, naive)}`,
    `largest difference to doubles ${worst(positions, 'error')}, of a step to one pass ${worst(positions, 'stepError')}`,
    ...positions.flatMap(({ name, note }) => (note ? [`${name}: ${note}`] : [])),
  ];
}

const titleOf = ({ phase, tokens }: TimedWork) => `${phase} ${count(tokens)} ms`;

function verdict(positions: readonly ComparedPosition[], naive: number): string {
  const above = positions.filter(({ headPeakBytes }) => headPeakBytes >= naive / 10).map(({ name }) => name);
  return above.length === 0
    ? 'every peak is below a tenth of it'
    : `a tenth or more of it: ${above.join(', ')}`;
}

function worst(positions: readonly ComparedPosition[], of: 'error' | 'stepError'): string {
  return Math.max(...positions.map((position) => position[of])).toExponential(0);
}
