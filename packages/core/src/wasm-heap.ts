// The heap of tfjs's wasm backend: rows copied without its slice kernel, which copies the whole source at each call.
import * as tf from '@tensorflow/tfjs-core';
import { UnsupportedError } from './errors';

interface WasmBackend {
  readonly wasm: { readonly HEAPU8: Uint8Array };
  readonly dataIdMap: { get(id: object): { readonly memoryOffset: number } | undefined };
  makeOutput(shape: number[], dtype: tf.DataType): tf.TensorInfo;
}

/** True where tensors of the current backend lie on a heap we can read and write. */
export function hasWasmHeap(): boolean {
  return tf.getBackend() === 'wasm' && 'dataIdMap' in tf.backend();
}

/** The numbers of a float32 tensor as they lie, until the next allocation; undefined where they lie elsewhere. */
export function floatsOnHeap(tensor: tf.Tensor): Float32Array | undefined {
  const { wasm, dataIdMap } = currentBackend();
  const entry = dataIdMap.get(tensor.dataId);
  return entry && new Float32Array(wasm.HEAPU8.buffer, entry.memoryOffset, tensor.size);
}

/**
 * A float32 tensor whose numbers are still to be written.
 *
 * @throws UnsupportedError when the heap is exhausted: the backend itself would go on at address 0, over other tensors
 */
export function emptyOnHeap<R extends tf.Rank>(shape: tf.ShapeMap[R]): tf.Tensor<R> {
  const backend = currentBackend();
  const info = backend.makeOutput([...shape], 'float32');
  const tensor = tf.engine().makeTensorFromTensorInfo(info);
  if (tensor.size > 0 && backend.dataIdMap.get(info.dataId)?.memoryOffset === 0) {
    tensor.dispose();
    throw new UnsupportedError(
      'wasm',
      'the heap of the wasm backend is exhausted',
      ['an allocation failed'],
      {
        'bytes asked': tensor.size * 4,
        'heap bytes': backend.wasm.HEAPU8.length,
      },
    );
  }
  return tensor as tf.Tensor<R>;
}

function currentBackend(): WasmBackend {
  return tf.backend() as unknown as WasmBackend;
}
