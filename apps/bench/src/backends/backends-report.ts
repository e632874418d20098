// The rows as a table, and the backends that do not run with their reasons.
import { threeDigits } from '../print/format-number';
import { alignColumns } from '../print/table';
import type { BackendRow } from './row';

const head = [
  'where',
  'backend',
  'kernel',
  'first',
  'prefill',
  'a token',
  'training',
  'error',
  'computes on',
];

export function backendLines(rows: readonly BackendRow[]): string[] {
  const lines = rows.flatMap(({ where, backend, outcome }) => {
    if ('reason' in outcome) return [];
    const { kernel, first, prefill, decode, training, error } = outcome.costs;
    const times = [first, prefill, decode, training].map(threeDigits);
    return [[where, backend, kernel, ...times, error.toExponential(0), outcome.device]];
  });
  const absent = rows.flatMap(({ where, backend, outcome }) =>
    'reason' in outcome ? [`${backend} in ${where} does not run here: ${outcome.reason}`] : [],
  );
  return [...alignColumns([head, ...lines], [3, 4, 5, 6, 7]), ...(absent.length > 0 ? ['', ...absent] : [])];
}

export const costLegend = (tokens: number): string[] => [
  `milliseconds of a causal layer, 512 wide with 8 heads × 64, ${tokens} tokens; medians, one backend after another`,
  'first: the first prefill, which compiles. a token: decoded behind the others, static cache. training: forward and',
  'the gradients of all weights. error: largest difference to doubles, as a share of the largest output.',
  'SwiftShader is a graphics card in software: those times say nothing about a real one. To measure it, open the page',
  'of `npx pnpm bench backends --serve` in its browser.',
];
