// Whether a contestant computes what it should: a wrong answer is not timed.
import { attentionOracle } from '@polyhead/conformance/oracle';
import { evenlySpread } from '../measure/evenly-spread';
import { relativeError } from '../measure/relative-error';
import type { AttentionInputs, AttentionWork } from './attention-work';

/** Largest difference to what is right, as a share of the largest number. */
export type Check = (numbers: readonly Float32Array[]) => number;

const checkedRows = 8;

/** Some query rows of every head against loops over doubles, first and last among them. */
export function againstDoubles(work: AttentionWork, { query, key, value }: AttentionInputs): Check {
  const { heads, keyValueHeads, queries, keys, headDim, causal } = work;
  const rows = evenlySpread(checkedRows, queries);
  const sampled = (all: Float32Array) =>
    Array.from({ length: heads }, (_, h) =>
      rows.map((row) => all.subarray((h * queries + row) * headDim, (h * queries + row + 1) * headDim)),
    ).flatMap((ofHead) => ofHead.flatMap((row) => [...row]));
  const { output: expected } = attentionOracle({
    sizes: {
      B: 1,
      Hq: heads,
      Hkv: keyValueHeads,
      Sq: rows.length,
      Skv: keys,
      D: headDim,
      Dv: headDim,
    },
    query: Float64Array.from(sampled(query)),
    key: Float64Array.from(key),
    value: Float64Array.from(value),
    isVisible: (_b, _h, i, j) => !causal || j <= rows[i]! + keys - queries,
  });
  return ([output]) => relativeError(sampled(output!), expected);
}

/** Every number against those of another implementation. */
export function againstNumbers(expected: readonly Float32Array[]): Check {
  return (numbers) => Math.max(...expected.map((of, n) => relativeError(numbers[n] ?? [], of)));
}
