import { hasWasmHeap, heapMemory } from '@polyhead/core/kernel';
import * as tf from '@tensorflow/tfjs-core';

/** Why tensors cannot be worked on where they lie; empty where they can. */
export function reasonsWithoutHeap(): string[] {
  if (hasWasmHeap() && heapMemory()) return [];
  return [
    `backend "${tf.getBackend()}" has no heap that it could work on: take "wasm", or the kernel composed`,
  ];
}
