import type { AttentionKernel, KernelCall } from '@polyhead/core';
import { flashCpu } from './cpu/flash-cpu';
import { flashWasm } from './wasm/flash-wasm';

/**
 * Fused attention: the kernel that is made for the current backend, chosen at each call. On wasm it is compiled to
 * WebAssembly, on cpu plain JavaScript, which also runs wherever tensors can be read at once.
 *
 * @example
 * const kernel = firstSupported([flash(), composed]);
 * const { output } = attend(kernel, { query, key, value }, { mask: causal() });
 */
export function flash(): AttentionKernel {
  const [wasm, cpu] = [flashWasm(), flashCpu()];
  const kernelOf = (call: KernelCall) => (wasm.unsupported(call).length === 0 ? wasm : cpu);
  return {
    name: 'flash',
    prepare: () => wasm.prepare!(),
    unsupported: (call) => kernelOf(call).unsupported(call),
    notes: (call) => kernelOf(call).notes?.(call) ?? [],
    worthwhile: (call) => kernelOf(call).worthwhile?.(call) ?? true,
    run(call) {
      const kernel = kernelOf(call);
      return { kernel: kernel.name, ...kernel.run(call) };
    },
  };
}
