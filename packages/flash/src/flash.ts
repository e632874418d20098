import type { AttentionKernel, KernelCall } from '@polyhead/core';
import { normalizeOptions } from '@polyhead/core/kernel';
import { flashCpu } from './cpu/flash-cpu';
import { type FlashWasmOptions, flashWasm } from './wasm/flash-wasm';

/** Of the kernel for wasm; the other has one thread. */
export type FlashOptions = Pick<FlashWasmOptions, 'relaxedSimd' | 'threads'>;

/**
 * Fused attention: the kernel that is made for the current backend, chosen at each call. On wasm it is compiled to
 * WebAssembly, on cpu plain JavaScript, which also runs wherever tensors can be read at once.
 *
 * @example
 * const kernel = firstSupported([flash(), composed]);
 * const { output } = attend(kernel, { query, key, value }, { mask: causal() });
 * @throws ConfigError for less than one thread
 */
export function flash(options: FlashOptions = {}): AttentionKernel {
  const known = normalizeOptions('flash', 'options', options, ['relaxedSimd', 'threads']);
  const [wasm, cpu] = [flashWasm(known), flashCpu()];
  const kernelOf = (call: KernelCall) => (wasm.unsupported(call).length === 0 ? wasm : cpu);
  const asksThreads = (known.threads ?? 1) > 1;
  return {
    name: 'flash',
    prepare: () => wasm.prepare!(),
    unsupported: (call) => kernelOf(call).unsupported(call),
    notes(call) {
      const kernel = kernelOf(call);
      const notes = kernel.notes?.(call) ?? [];
      return kernel === cpu && asksThreads ? [...notes, 'one thread: others need backend "wasm"'] : notes;
    },
    worthwhile: (call) => kernelOf(call).worthwhile?.(call) ?? true,
    run(call) {
      const kernel = kernelOf(call);
      return { kernel: kernel.name, ...kernel.run(call) };
    },
    dispose: () => wasm.dispose!(),
  };
}
