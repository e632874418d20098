// How much of the tolerance the numbers of a test needed, noted on the test: the end of a run says it for each backend.
import { TestRunner } from 'vitest';

/** The largest error, as a share of what is allowed. */
export interface Precision {
  results?: number;
  gradients?: number;
}

declare module 'vitest' {
  interface TaskMeta {
    precision?: Precision;
  }
}

/** Keeps the larger of this share and that before, for the test that runs. */
export function notePrecision(kind: keyof Precision, share: number): void {
  const test = TestRunner.getCurrentTest();
  if (!test) return;
  test.meta.precision ??= {};
  test.meta.precision[kind] = Math.max(test.meta.precision[kind] ?? 0, share);
}
