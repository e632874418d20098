// What the suite is told of a kernel.
import type { AttentionKernel } from '@polyhead/core';
import { type AttentionCase, attentionCase, type CaseRow, type OwnTensors } from '../attention-case';
import { type Refusable, refusableIn } from '../cases';
import type { KernelOracle } from '../kernel-run';
import { attentionOracle } from '../oracle';

/** A kernel, what it computes, and what it refuses. */
export interface KernelUnderTest {
  /** Makes the kernel. The suite prepares it, and runs all checks on the same one. */
  create(): AttentionKernel;
  /** What it computes, by its definition in doubles. Default: `attentionOracle`, softmax attention with every option. */
  readonly oracle?: KernelOracle;
  /** Tensors of its own that each call brings, by the names that it `takes`. Default: none. */
  readonly tensors?: OwnTensors;
  /** Why the order of keys matters to it beyond the mask. Default: it does not, and the suite puts them in another one. */
  readonly ordered?: string;
  /** What it refuses by design, with the reason: the suite leaves it out, and checks that it is refused. */
  readonly refuses?: { readonly [option in Refusable]?: string };
}

/** True where the kernel does not refuse the option. */
export function allows({ refuses = {} }: KernelUnderTest, option: Refusable): boolean {
  return refuses[option] === undefined;
}

/** True where the kernel refuses nothing of the row. */
export function allowsRow(suite: KernelUnderTest, row: CaseRow): boolean {
  return refusableIn(row).every((option) => allows(suite, option));
}

/** The case of a row, with the kernel's own tensors. */
export function caseOf({ tensors }: KernelUnderTest, row: CaseRow): AttentionCase {
  return attentionCase({ ...row, tensors });
}

/** The case of a row, without the results and options of it that the kernel refuses; its mask stays. */
export function allowedCase(suite: KernelUnderTest, row: CaseRow): AttentionCase {
  const { sizes, mask, queryStart, returns = [], ...options } = row;
  const allowed = Object.entries(options).filter(([option]) => allows(suite, option as Refusable));
  return caseOf(suite, {
    sizes,
    ...(mask && { mask }),
    queryStart,
    returns: returns.filter((name) => allows(suite, name)),
    ...Object.fromEntries(allowed),
  });
}

/** True where the kernel is held to softmax attention, and so to the error of `composed`. */
export function isSoftmax({ oracle = attentionOracle }: KernelUnderTest): boolean {
  return oracle === attentionOracle;
}
