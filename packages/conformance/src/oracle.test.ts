import { describe, expect, it } from 'vitest';
import flashFile from './fixtures/torch-flash-log-sum-exp.json';
import sdpaFile from './fixtures/torch-sdpa.json';
import stressFile from './fixtures/torch-stress.json';
import { golden } from './golden';
import { sdpaCases } from './golden-sdpa';
import { centralDifferences, weightedSum } from './gradients';
import { attentionOracle } from './oracle';

// Fixtures keep nine digits; scores beside -1e9 keep seven.
const digits = 1e-7;
const gradientDigits = 1e-6;

describe('the oracle gives what torch gives in doubles', () => {
  const sources = [...sdpaCases(sdpaFile), ...sdpaCases(flashFile), ...sdpaCases(stressFile)];
  it.each(sources)('$name', ({ name, oracle, inputs, outputs }) => {
    const { output, logSumExp } = attentionOracle(oracle);
    // float32 in torch: -1e9 on a row swallows its scores there; the doubles are kept beside it.
    expectClose(output, golden(outputs, outputs.out_float64 ? 'out_float64' : 'out').data, digits);
    // flash-for-cpu says 0 for the log-sum-exp of a row that sees nothing; here it is -Infinity.
    if (outputs.lse) expectClose(logSumExp, withoutSentinel(name, logSumExp, outputs.lse.data), digits);
    if (!inputs.cotangent) return;
    const loss = () => weightedSum(attentionOracle(oracle).output, golden(inputs, 'cotangent').data);
    const arrays = { q: oracle.query, k: oracle.key, v: oracle.value, mask: oracle.bias?.data };
    for (const [argument, array] of Object.entries(arrays)) {
      const expected = outputs[`grad_${argument}`];
      if (array && expected) expectClose(centralDifferences(loss, array), expected.data, gradientDigits);
    }
  });
});

function withoutSentinel(name: string, ours: Float64Array, theirs: Float64Array): Float64Array {
  if (!name.startsWith('flash')) return theirs;
  return theirs.map((value, n) => (value === 0 ? ours[n]! : value));
}

function expectClose(actual: Float64Array, expected: Float64Array, tolerance: number): void {
  expect(actual.length).toBe(expected.length);
  actual.forEach((value, n) => {
    const bound = tolerance * Math.max(1, Math.abs(expected[n]!));
    if (!Object.is(value, expected[n]))
      expect(Math.abs(value - expected[n]!), `entry ${n}`).toBeLessThanOrEqual(bound);
  });
}
