// How far the published layers are from the model's own graph, as lines that a person reads.
import { count } from '../print/format-number';
import { alignColumns } from '../print/table';
import { allowedDifference, type Reproduction, wrongParts } from './reproduction';

export function headline(reproduction: Reproduction): string {
  const verb = wrongParts(reproduction).length === 0 ? 'reproduces' : 'does NOT reproduce';
  return (
    `MultiHeadAttention ${verb} both attention layers of Universal Sentence Encoder Lite ` +
    `on ${count(reproduction.sentences)} sentences of Moby Dick.`
  );
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
