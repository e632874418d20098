// Which kernels of ours are timed: the one place that makes them.
import { type AttentionKernel, composed, firstSupported } from '@polyhead/core';
import { flashWasm } from '@polyhead/flash/wasm';

/** Names of our contestants, as gates give them. */
export const ours = {
  flash: 'flash',
  plain: 'flash, plain SIMD',
  twoThreads: 'flash, 2 threads',
  composed: 'composed',
} as const;

export type OurKernel = keyof typeof ours;

/**
 * The documented use: flash where it can and should run, else composed.
 *
 * @param threads where the name leaves it open
 */
export async function kernelUnderTest(name: OurKernel, threads = 1): Promise<AttentionKernel> {
  if (name === 'composed') return composed();
  const relaxedSimd = name === 'plain' ? false : 'auto';
  const fused = flashWasm({ relaxedSimd, threads: name === 'twoThreads' ? 2 : threads });
  const kernel = firstSupported([fused, composed()]);
  await kernel.prepare?.();
  return kernel;
}
