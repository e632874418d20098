// A pass of a call, by several threads where they gain something, else by one.
import { HeapBlocks } from './heap-blocks';
import type { Runner } from './kernel-module';
import { ThreadsFailed } from './threads/copied-blocks';
import type { ThreadPass, ThreadPool } from './threads/thread-pool';
import { expectedMs, type Work, whyOneThread } from './threads/worth';

/** The kernel in the heap of tfjs, and threads that may help. */
export interface PassRunner extends Runner {
  readonly pool: ThreadPool | undefined;
}

/** Where a pass lies, and what computes it. */
export interface PassHeap {
  readonly blocks: HeapBlocks;
  run(pass: Omit<ThreadPass, 'expectedMs'>): void;
}

/** @param use writes the pass down, runs it and reads what it has given; all of it once more, where threads fail */
export function runPass<T>(runner: PassRunner, workOf: () => Work, use: (heap: PassHeap) => T): T {
  const { pool, kernel } = runner;
  const work = pool && workOf();
  if (pool && work && whyOneThread(pool, work) === undefined) {
    const blocks = pool.blocks();
    try {
      return use({ blocks, run: (pass) => pool.run(blocks, { ...pass, expectedMs: expectedMs(work) }) });
    } catch (error) {
      if (!(error instanceof ThreadsFailed)) throw error;
      pool.end(error.message);
      blocks.abandon();
    } finally {
      blocks.release();
    }
  }
  const blocks = new HeapBlocks();
  try {
    return use({ blocks, run: (pass) => runAlone(kernel, blocks, pass) });
  } finally {
    blocks.release();
  }
}

function runAlone(
  kernel: Runner['kernel'],
  blocks: HeapBlocks,
  { call, gradients, heads }: Omit<ThreadPass, 'expectedMs'>,
): void {
  const isBackward = gradients !== 0;
  const workspace = blocks.reserve(kernel.workspaceBytes(call, isBackward));
  kernel.initWorkspace(call, workspace, isBackward);
  if (isBackward) kernel.backward(call, gradients, workspace, 0, heads);
  else kernel.forward(call, workspace, 0, kernel.tileCount(call));
}
