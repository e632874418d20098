// The bench's results as lines that a person reads.
import type { Backend } from './backend';
import type { BackendName } from './backend-name';
import type { Environment } from './environment';
import { count } from './format-number';
import { layerNotes } from './prefill-cases';
import type { Timing } from './prefill-speed';
import { allowedDifference, type Reproduction, wrongParts } from './reproduction';
import { alignColumns } from './table';

export function headline(reproduction: Reproduction): string {
  const verb = wrongParts(reproduction).length === 0 ? 'reproduces' : 'does NOT reproduce';
  return (
    `MultiHeadAttention ${verb} both attention layers of Universal Sentence Encoder Lite ` +
    `on ${count(reproduction.sentences)} sentences of Moby Dick.`
  );
}

export function environmentLines(backend: Backend, environment: Environment): string[] {
  const { tfjs, node, cpu, cores, commit } = environment;
  return alignColumns([
    ['backend', `${backend.name} (${backend.device})`],
    ...backend.passedOver.map(({ name, reason }) => ['', `not ${name}: ${reason}`]),
    ['versions', `TensorFlow.js ${tfjs}, Node ${node}${commit === undefined ? '' : `, commit ${commit}`}`],
    ['machine', `${cpu}, ${cores} cores`],
  ]);
}

export function reproductionLines({ tokens, layers }: Reproduction): string[] {
  const cell = (value: number, allowed: number) =>
    `${value === 0 ? '0' : value.toExponential(1)} of ${allowed.toExponential(1)} allowed`;
  return [
    `Largest difference to the model's own graph, over ${count(tokens)} tokens`,
    ...alignColumns([
      ['', 'attention weights', 'output'],
      ...layers.map(({ weights, output }, layer) => [
        `layer ${layer + 1}`,
        cell(weights, allowedDifference.weights),
        cell(output, allowedDifference.output),
      ]),
    ]),
  ];
}

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
    const rows = casesOf(timings, backends.length).map((row) => [
      row[0]!.layer,
      count(row[0]!.length),
      ...row.map(showTime),
      ...(compares ? [`${(row.at(-1)!.median / row[0]!.median).toFixed(1)} ×`] : []),
      Math.max(...row.map((timing) => timing.error)).toExponential(0),
    ]);
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

/** The backends of one case stand together. */
function casesOf(timings: readonly Timing[], backends: number): Timing[][] {
  const cases = timings.length / backends;
  return Array.from({ length: cases }, (_, i) => timings.slice(i * backends, (i + 1) * backends));
}

const milliseconds = (ms: number) => (ms < 10 ? ms.toFixed(2) : ms.toFixed(0));
