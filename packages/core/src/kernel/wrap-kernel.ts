// A kernel around a kernel: another call goes in, another result comes out, all else stays.
import type { AttentionKernel, KernelCall, KernelResult } from '../contract/kernel';
import { refusals } from './refusals';

/** What a wrapper changes. */
export interface KernelWrapper {
  /** Default: the name of the kernel inside. */
  readonly name?: string;
  /** Tensors of a variant's own that the wrapper itself honors, in addition to those of the kernel inside. */
  readonly takes?: readonly string[];
  /** The call that the kernel inside gets: made once for each call, and only where `unsupported` gives no reason. */
  call?(call: KernelCall): KernelCall;
  /** Reasons of its own against the outer call. */
  unsupported?(call: KernelCall): readonly string[];
  /** Notes of its own on the outer call. */
  notes?(call: KernelCall): readonly string[];
  /** What comes back for the outer call. */
  result?(result: KernelResult, call: KernelCall): KernelResult;
}

/** The kernel, changed as the wrapper says. What it prepares, notes and disposes goes on to the kernel inside. */
export function wrapKernel(kernel: AttentionKernel, wrapper: KernelWrapper): AttentionKernel {
  const inner = remembered((call) => wrapper.call?.(call) ?? call);
  const takes = [...(kernel.takes ?? []), ...(wrapper.takes ?? [])];
  return {
    name: wrapper.name ?? kernel.name,
    ...(takes.length > 0 && { takes }),
    ...(kernel.takesState && { takesState: true }),
    prepare: async () => kernel.prepare?.(),
    unsupported(call) {
      const reasons = wrapper.unsupported?.(call) ?? [];
      return reasons.length > 0 ? reasons : refusals(kernel, inner(call));
    },
    notes: (call) => [...(wrapper.notes?.(call) ?? []), ...(kernel.notes?.(inner(call)) ?? [])],
    worthwhile: (call) => kernel.worthwhile?.(inner(call)) ?? true,
    run(call) {
      const result = kernel.run(inner(call));
      return { kernel: kernel.name, ...(wrapper.result?.(result, call) ?? result) };
    },
    dispose: () => kernel.dispose?.(),
  };
}

/** `f`, asked once for each call: the last is remembered, since a kernel is asked and then run. */
export function remembered<T>(f: (call: KernelCall) => T): (call: KernelCall) => T {
  let last: { readonly call: KernelCall; readonly value: T } | undefined;
  return (call) => {
    if (last?.call !== call) last = { call, value: f(call) };
    return last.value;
  };
}
