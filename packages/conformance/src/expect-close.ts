// The comparisons every check ends in: named results against named expectations, within the one tolerance rule.
import { alongDirection, type Numbers, type Slope } from './gradients';
import { notePrecision } from './note-precision';
import { composedBound, type Expected, maxAbs, maxError, relativeBound } from './tolerance';

interface Comparison {
  readonly actual: Numbers;
  readonly expected: Numbers;
  /** What `composed` gives; absent where it is `composed` that is measured, or where it has no such result. */
  readonly baseline?: Numbers | undefined;
  /** What errors are a part of, by name. Default: the largest of the expected numbers. */
  readonly magnitudes?: { readonly [name: string]: number };
  readonly maxAbsScore?: number;
  readonly isGradient?: boolean;
}

/** Throws with the worst entry of the first result that is too far from what is expected. */
export function expectClose({
  actual,
  expected,
  baseline,
  magnitudes = {},
  maxAbsScore = 0,
  isGradient = false,
}: Comparison): void {
  const names = Object.keys(expected);
  const missing = names.filter((name) => !actual[name]);
  const unexpected = Object.keys(actual).filter((name) => !expected[name]);
  if (names.length === 0 || missing.length + unexpected.length > 0) {
    throw new Error(
      `of ${names.join(', ') || 'nothing'}: missing ${missing.join()}; not expected ${unexpected.join()}`,
    );
  }
  for (const name of names) {
    const data = expected[name]!;
    const wanted: Expected = { data, magnitude: magnitudes[name], maxAbsScore, isGradient };
    const error = maxError(actual[name]!, data);
    const bound = baseline ? relativeBound(wanted, maxError(baseline[name]!, data)) : composedBound(wanted);
    if (!(error <= bound)) throw new Error(describeMiss(name, actual[name]!, data, { error, bound }));
    if (!baseline && bound > 0) notePrecision(isGradient ? 'gradients' : 'results', error / bound);
  }
}

interface SlopeComparison {
  /** The gradient for each argument. */
  readonly gradients: Numbers;
  /** What the oracle gives, by any names; each argument is in one of the directions. */
  readonly slopes: { readonly [name: string]: Slope };
  /** The gradients that `composed` gives. */
  readonly baseline?: Numbers | undefined;
  readonly maxAbsScore?: number;
}

/** Throws for the first slope that the gradients do not have. */
export function expectSlopes({ gradients, slopes, baseline, maxAbsScore = 0 }: SlopeComparison): void {
  const expected = Object.values(slopes).flatMap(({ direction }) => Object.keys(direction));
  const wrong = [
    ...expected.filter((name) => !gradients[name]),
    ...Object.keys(gradients).filter((name) => !expected.includes(name)),
  ];
  if (wrong.length > 0) throw new Error(`gradients of ${Object.keys(gradients)}, not of ${expected}`);
  const named = <T>(entry: (slope: Slope) => T) =>
    Object.fromEntries(Object.entries(slopes).map(([name, slope]) => [`slope along ${name}`, entry(slope)]));
  const slopesBy = (numbers: Numbers) =>
    named(({ direction }) => Float64Array.of(alongDirection(numbers, direction)));
  expectClose({
    actual: slopesBy(gradients),
    expected: named(({ value }) => Float64Array.of(value)),
    baseline: baseline && slopesBy(baseline),
    magnitudes: named(({ direction }) =>
      Math.max(...Object.keys(direction).map((name) => maxAbs(gradients[name]!))),
    ),
    maxAbsScore,
    isGradient: true,
  });
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
