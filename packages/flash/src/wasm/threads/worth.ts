// Whether threads gain more than they cost.
import type { KernelCall } from '@polyhead/core';
import type { CallTensors } from '@polyhead/core/kernel';
import type * as tf from '@tensorflow/tfjs-core';
import type { TileSizes } from '../../kernel-options';
import { tilesOf } from '../call-on-heap';
import { bytesOf } from './copied-blocks';
import type { ThreadPool } from './thread-pool';

/** What a pass costs. */
export interface Work {
  readonly multiplyAdds: number;
  readonly bytes: number; // of tensors that it reads and writes
  readonly units: number; // that threads can share
}

// As measured: one thread multiplies and adds 10 to 22 numbers in a nanosecond, and copies 3 to 20 bytes of a tensor, few
// where another thread has just read them; waking threads and waiting for them takes up to 0.2 ms.
const multiplyAddsPerMs = 2e7;
const bytesPerMs = 6e6;
const startMs = 0.2;

/** Why one thread is better; undefined where several are, and can. */
export function whyOneThread(pool: ThreadPool, work: Work): string | undefined {
  const { bytes, units } = work;
  if (pool.reason !== undefined) return pool.reason;
  const share = 1 - 1 / Math.min(pool.threads, units); // of the work that others do
  const gained = expectedMs(work) * share;
  const copied = pool.copies ? bytes / bytesPerMs : 0;
  return gained > startMs + copied ? undefined : 'more would gain nothing here';
}

/** What one thread takes. */
export function expectedMs({ multiplyAdds }: Work): number {
  return multiplyAdds / multiplyAddsPerMs;
}

export function noteOfThreads(pool: ThreadPool, work: Work): string {
  const reason = whyOneThread(pool, work);
  return reason === undefined ? `${pool.threads} threads` : `one thread: ${reason}`;
}

export function forwardWork(call: KernelCall, tensors: CallTensors, tile: TileSizes): Work {
  const { sizes } = call;
  const { B, Hq, Hkv, Sq, D, Dv } = sizes;
  return {
    multiplyAdds: call.plan.pairs * (D + Dv),
    bytes: bytesRead(call, tensors) + B * Hq * Sq * Dv * 4,
    units: B * Hkv * Math.ceil(Sq / tilesOf(tile, sizes).queriesPerTile),
  };
}

export function backwardWork(call: KernelCall, tensors: CallTensors): Work {
  const { sizes } = call;
  const { B, Hq, Hkv, Sq, D, Dv } = sizes;
  return {
    multiplyAdds: call.plan.pairs * (3 * D + 2 * Dv),
    bytes: 2 * bytesRead(call, tensors) + 2 * B * Hq * Sq * Dv * 4,
    units: headsShareGradients(tensors, sizes) ? 1 : B * Hkv,
  };
}

function bytesRead({ inputs, plan }: KernelCall, tensors: CallTensors): number {
  const inputTensors: readonly tf.Tensor[] = Object.values(tensors);
  const stored = inputs.stored?.parts.flatMap(({ key, value }) => [key.data, value.data]) ?? [];
  return [...inputTensors, ...plan.dense, ...stored].reduce((sum, tensor) => sum + bytesOf(tensor), 0);
}

/** Whether key/value heads add to the same numbers: two threads would lose some of what they add. */
function headsShareGradients(
  { bias, biasTable, keyTable, queryTable, valueTable }: CallTensors,
  { B, Hq }: { readonly B: number; readonly Hq: number },
): boolean {
  const ofBias = bias !== undefined && (bias.shape[0] < B || bias.shape[1] < Hq);
  const ofTables = [biasTable, keyTable, queryTable, valueTable].some(
    (table) => table !== undefined && (B > 1 || table.shape[0] < Hq),
  );
  return ofBias || ofTables;
}
