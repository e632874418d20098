// What tfjs holds: its own count, and the heap of the wasm backend, which the count does not see.
import * as tf from '@tensorflow/tfjs-core';

export interface Memory {
  readonly numTensors: number;
  readonly numDataBuffers: number;
  readonly numBytes: number;
}

export function memoryNow(): Memory {
  const { numTensors, numDataBuffers, numBytes } = tf.memory();
  return { numTensors, numDataBuffers, numBytes };
}

/** Throws where tfjs holds more, or less, than before. */
export function expectSameMemory(before: Memory): void {
  const now = memoryNow();
  for (const name of ['numTensors', 'numDataBuffers', 'numBytes'] as const) {
    if (now[name] !== before[name])
      throw new Error(`tf.memory().${name} was ${before[name]}, is ${now[name]}`);
  }
}

/** The size of the wasm heap; 0 on backends without one. It only grows, in steps of megabytes. */
export function heapBytes(): number {
  const { wasm } = tf.backend() as { wasm?: { HEAPU8: Uint8Array } };
  return wasm?.HEAPU8.length ?? 0;
}

/**
 * Throws where the heap grows over `repeats` calls, after as many to warm up; without a heap two calls have to do. A leak
 * shows where `repeats` times what a call loses is more than the heap has free.
 */
export function expectFlatHeap(call: () => void, repeats: number): void {
  const count = heapBytes() > 0 ? repeats : 1;
  const repeat = () => {
    for (let n = 0; n < count; n++) tf.tidy(call);
  };
  repeat();
  const before = heapBytes();
  repeat();
  if (heapBytes() !== before)
    throw new Error(`the heap grew by ${heapBytes() - before} bytes in ${count} calls`);
}

/** The most bytes of tensors that lived at once while the call ran, beyond those before it, and those of the largest. */
export function bytesDuring(call: () => void): { readonly peak: number; readonly largest: number } {
  const engine = tf.engine() as unknown as { trackTensor: (tensor: tf.Tensor, ...rest: unknown[]) => void };
  const track = engine.trackTensor;
  const before = tf.memory().numBytes;
  const bytes = { peak: 0, largest: 0 };
  engine.trackTensor = (tensor, ...rest) => {
    track.call(engine, tensor, ...rest);
    bytes.peak = Math.max(bytes.peak, tf.memory().numBytes - before);
    bytes.largest = Math.max(bytes.largest, tensor.size * tf.util.bytesPerElement(tensor.dtype));
  };
  try {
    tf.tidy(call);
  } finally {
    engine.trackTensor = track;
  }
  return bytes;
}

/** The most bytes of tensors that lived at once while the call ran, beyond those before it. */
export function peakBytes(call: () => void): number {
  return bytesDuring(call).peak;
}
