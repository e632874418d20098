// The comparison every check ends in: named results against named expectations, within the one tolerance rule.
import type { Numbers } from './kernel-run';
import { notePrecision } from './note-precision';
import { composedBound, type Expected, maxError, relativeBound } from './tolerance';

interface Comparison {
  readonly actual: Numbers;
  readonly expected: Numbers;
  /** What `composed` gives; absent where it is `composed` that is measured. */
  readonly baseline?: (() => Numbers) | undefined;
  readonly maxAbsScore?: number;
  readonly isGradient?: boolean;
}

/** Throws with the worst entry of the first result that is too far from what is expected. */
export function expectClose({
  actual,
  expected,
  baseline,
  maxAbsScore = 0,
  isGradient = false,
}: Comparison): void {
  const names = Object.keys(expected);
  const missing = names.filter((name) => !actual[name]);
  const unasked = Object.keys(actual).filter((name) => !expected[name]);
  if (names.length === 0 || missing.length + unasked.length > 0) {
    throw new Error(
      `of ${names.join(', ') || 'nothing'}: missing ${missing.join()}; unasked for ${unasked.join()}`,
    );
  }
  const reference = baseline?.();
  for (const name of names) {
    const wanted: Expected = { data: expected[name]!, maxAbsScore, isGradient };
    const error = maxError(actual[name]!, wanted.data);
    const bound = reference
      ? relativeBound(wanted, maxError(reference[name]!, wanted.data))
      : composedBound(wanted);
    if (!(error <= bound)) throw new Error(describeMiss(name, actual[name]!, wanted.data, { error, bound }));
    if (!reference && bound > 0) notePrecision(isGradient ? 'gradients' : 'results', error / bound);
  }
}

function describeMiss(
  name: string,
  actual: Float64Array,
  expected: Float64Array,
  { error, bound }: { error: number; bound: number },
): string {
  if (actual.length !== expected.length) return `${name}: ${actual.length} numbers, not ${expected.length}`;
  const at = actual.findIndex(
    (value, n) => maxError(Float64Array.of(value), Float64Array.of(expected[n]!)) === error,
  );
  return `${name}: entry ${at} is ${actual[at]}, not ${expected[at]}: ${error} apart, ${bound} allowed`;
}
