// A check is a sentence and a function that throws: a list of them can be run by vitest, or against a kernel that is
// known to be wrong, to see that they notice.
import { describe, it } from 'vitest';
import { sampled } from './sampled';

/** A sentence about a kernel or a layer, and what it takes to be true. */
export interface Check {
  readonly name: string;
  /** Milliseconds that it may take. Default: as long as any test. */
  readonly timeout?: number;
  /** Throws, or rejects, where the sentence is not true: what a graphics card computed has to be waited for. */
  run(): void | Promise<void>;
}

/** Why a check is expected to fail, by the check's name. */
export type KnownGaps = { readonly [check: string]: string };

/**
 * Each check as a test; on graphics cards in software one in five. Known gaps are expected failures: when one starts to
 * pass, the test fails until it is deleted.
 *
 * @param sharedBy how many suites share the checks there: each runs others
 */
export function describeChecks(
  name: string,
  checks: readonly Check[],
  knownGaps: KnownGaps = {},
  sharedBy = 1,
): void {
  const hash = [...name].reduce((sum, letter) => (33 * sum + letter.charCodeAt(0)) % 1_000_003, 0);
  describe(name, () => {
    checkKnownGaps(checks, knownGaps);
    for (const { name: sentence, timeout, run } of sampled(checks, 5 * sharedBy, {
      further: 5 * (hash % sharedBy),
    })) {
      const options = timeout === undefined ? {} : { timeout };
      const reason = knownGaps[sentence];
      if (reason) it.fails(`${sentence} (known gap: ${reason})`, options, run);
      else it(sentence, options, run);
    }
  });
}

/** Throws for a gap that is no check any more, or has no reason. */
export function checkKnownGaps(checks: readonly Check[], knownGaps: KnownGaps): void {
  for (const [gap, reason] of Object.entries(knownGaps)) {
    if (!checks.some(({ name }) => name === gap)) throw new Error(`no check is called "${gap}"`);
    if (!reason) throw new Error(`the known gap "${gap}" needs a reason`);
  }
}

/** What a call throws or rejects with; an error of its own where it does neither. */
export async function thrownBy(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}
