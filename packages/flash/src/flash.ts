import type { AttentionKernel } from '@polyhead/core';
import { flashCpu } from './cpu/flash-cpu';

/**
 * Fused attention: the kernel that is made for the current backend, chosen at each call. Today there is one, in plain
 * JavaScript, for the cpu backend.
 *
 * @example
 * const kernel = firstSupported([flash(), composed]);
 * const { output } = attend(kernel, { query, key, value }, { mask: causal() });
 */
export function flash(): AttentionKernel {
  const cpu = flashCpu();
  return {
    name: 'flash',
    unsupported: (call) => cpu.unsupported(call),
    notes: (call) => cpu.notes?.(call) ?? [],
    worthwhile: (call) => cpu.worthwhile?.(call) ?? true,
    run: (call) => ({ kernel: cpu.name, ...cpu.run(call) }),
  };
}
