// A pass of a call, by several threads where they gain something, else by one.
import { HeapBlocks, type PassCost, type SharedPass, type ThreadPool } from '@polyhead/core/kernel';
import type { KernelExports, Runner } from './kernel-module';

/** The kernel in the heap of tfjs, and threads that may help. */
export interface PassRunner extends Runner {
  readonly pool: ThreadPool<KernelExports>;
}

/** Where a pass lies, and what computes it: `compute` takes the address of a `Call`. */
export type PassHeap = Pick<SharedPass, 'blocks' | 'compute'>;

/** @param use writes the pass down, computes it and reads what it has given; all of it once more, where threads fail */
export function runPass<T>(
  { pool, kernel }: PassRunner,
  costOf: () => PassCost,
  use: (heap: PassHeap) => T,
): T {
  const shared = pool.share(costOf, use);
  if (shared) return shared[0];
  const blocks = new HeapBlocks();
  try {
    return use({
      blocks,
      compute(call) {
        kernel.all(call, blocks.reserve(kernel.workspaceBytes(call)));
      },
    });
  } finally {
    blocks.release();
  }
}
