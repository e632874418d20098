// What was found of a model, as lines that a person reads.
import { formatBytes } from '../print/byte-size';
import { count, percent, threeDigits } from '../print/format-number';
import { alignColumns } from '../print/table';
import type { CacheQuality } from './cache-study';
import type { Golden, LoadedModel } from './loaded-model';
import type { ProofRow } from './proof';
import type { SpeedRow } from './speed';
import type { TextQuality } from './text-quality';
import { partNames, type TokenParts } from './token-parts';
import type { FormName, FormTimes } from './weight-forms';

export function titleLines({ title, model }: LoadedModel): string[] {
  const parameters = model.variables.reduce((sum, { variable }) => sum + variable.size, 0);
  return [`${title}: ${count(parameters)} parameters`];
}

export function proofLines(
  rows: readonly ProofRow[],
  { reference, tolerance, leastMargin }: Golden,
): string[] {
  const margin = (n: number) => (Number.isFinite(n) ? threeDigits(n) : '');
  return [
    `Checked against ${reference}: logits within ${tolerance}, tokens up to the first margin below ${leastMargin}`,
    ...alignColumns(
      [
        ['', 'texts', 'largest difference', 'of', 'tokens', 'other', 'smallest margin'],
        ...rows.map(({ way, cases, largestDifference, largestLogit, tokens, wrong, smallestMargin }) => [
          way,
          `${cases}`,
          largestDifference.toExponential(1),
          threeDigits(largestLogit),
          tokens > 0 ? `${tokens}` : '',
          tokens > 0 ? `${wrong}` : '',
          margin(smallestMargin),
        ]),
      ],
      [1, 2, 3, 4, 5, 6],
    ),
  ];
}

export function speedLines(rows: readonly SpeedRow[], cold: number): string[] {
  return [
    `Speed behind ${rows[0]!.promptTokens} tokens; the very first token took ${threeDigits(cold)} ms`,
    ...alignColumns(
      [
        ['', 'prompt tokens/s', 'new tokens/s', 'first token', 'keys and values: predicted', 'held'],
        ...rows.map(({ way, prompt, generated, firstToken, predictedBytes, heldBytes }) => [
          way,
          threeDigits(prompt),
          threeDigits(generated),
          `${threeDigits(firstToken)} ms`,
          predictedBytes > 0 ? formatBytes(predictedBytes) : '',
          heldBytes > 0 ? formatBytes(heldBytes) : '',
        ]),
      ],
      [1, 2, 3, 4, 5],
    ),
  ];
}

const divergence = (n: number) => (n < 1e-6 ? '0' : n.toPrecision(2));

/** What caches cost the model, each compared with itself without one. */
export function cacheLines(rows: readonly CacheQuality[]): string[] {
  return [
    'Caches: keys and values of all layers; KL divergence of the exact next token, in nats',
    ...alignColumns(
      [
        [
          ...['', 'text', 'bytes a token', 'mean KL', '99 %', 'same token', 'perplexity', 'exact'],
          ...['tokens/s', 'in 1 GiB'],
        ],
        ...rows.map((row) => [
          row.name,
          `${row.tokens}`,
          count(Math.round(row.bytesPerToken)),
          divergence(row.meanDivergence),
          divergence(row.divergence99),
          percent(row.agreement),
          threeDigits(row.perplexity),
          threeDigits(row.exactPerplexity),
          threeDigits(row.tokensPerSecond),
          Number.isFinite(row.longestContext) ? count(row.longestContext) : 'no end',
        ]),
      ],
      [1, 2, 3, 4, 5, 6, 7, 8, 9],
    ),
  ];
}

export function partLines(rows: readonly { readonly way: string; readonly parts: TokenParts }[]): string[] {
  const sum = (parts: TokenParts) => partNames.reduce((total, name) => total + parts[name], 0);
  return [
    'Where the time of a new token goes',
    ...alignColumns(
      [
        ['', ...partNames, 'in all'],
        ...rows.map(({ way, parts }) => [
          way,
          ...partNames.map((name) => `${threeDigits(parts[name])} ms ${percent(parts[name] / sum(parts))}`),
          `${threeDigits(sum(parts))} ms`,
        ]),
      ],
      partNames.map((_, n) => n + 1).concat(partNames.length + 1),
    ),
  ];
}

export type FormRow = { readonly form: FormName } & Omit<FormTimes, 'logits'> &
  Pick<TextQuality, 'meanDivergence' | 'agreement'>;

export function formLines(rows: readonly FormRow[]): string[] {
  return [
    'Weights as floats and as blocks, each in a process of its own; KL divergence of the first, in nats, behind 320 tokens of Moby Dick',
    ...alignColumns(
      [
        [
          '',
          'from the closed file to the first token',
          'new tokens/s',
          'over the first',
          'memory over the file',
          'mean KL',
          'same token',
        ],
        ...rows.map(({ form, firstToken, generated, memory, meanDivergence, agreement }) => [
          form,
          `${threeDigits(firstToken)} ms`,
          threeDigits(generated),
          `${threeDigits(generated / rows[0]!.generated)} ×`,
          `${threeDigits(memory)} ×`,
          divergence(meanDivergence),
          percent(agreement),
        ]),
      ],
      [1, 2, 3, 4, 5, 6],
    ),
  ];
}

/** What a model takes of memory beside keys and values. */
export interface ModelBytes {
  readonly file: number;
  readonly weights: number;
  /** What the heap of the backend has grown by at the first pass: its packed copies. */
  readonly packed: number;
}

export function byteLines({ file, weights, packed }: ModelBytes): string[] {
  return [
    `Bytes: file ${formatBytes(file)}, weights ${formatBytes(weights)}, the backend's own at the first pass ${formatBytes(packed)}`,
  ];
}
