// The heap of tfjs's wasm backend: rows copied without its slice kernel, which copies the whole source at each call.
import * as tf from '@tensorflow/tfjs-core';
import { UnsupportedError } from '../contract/errors';
import { backendTraits } from './traits';

interface WasmModule {
  readonly HEAPU8: Uint8Array;
  readonly asm?: { readonly memory?: unknown };
  readonly wasmMemory?: unknown;
  _malloc(bytes: number): number;
  _free(address: number): void;
}

interface WasmBackend {
  readonly wasm: WasmModule;
  readonly dataIdMap: { get(id: object): { readonly memoryOffset: number } };
  makeOutput(shape: number[], dtype: tf.DataType): tf.TensorInfo;
  incRef(id: object): void;
}

/** True where tensors of the current backend lie on a heap we can read and write. */
export function hasWasmHeap(): boolean {
  if (!backendTraits().wasmHeap || !('dataIdMap' in tf.backend())) return false;
  guardAllocations(currentBackend().wasm);
  return true;
}

/** Where the numbers of a tensor begin. One of another backend is moved here. */
export function addressOnHeap(tensor: tf.Tensor): number {
  return currentBackend().dataIdMap.get(tensor.dataId).memoryOffset >>> 0;
}

/** The numbers of a float32 tensor as they lie, until the next allocation. One of another backend is moved here. */
export function floatsOnHeap(tensor: tf.Tensor): Float32Array {
  const address = addressOnHeap(tensor);
  return new Float32Array(currentBackend().wasm.HEAPU8.buffer, address, tensor.size);
}

/** The memory itself, for a module of ours to work in: undefined where the backend does not show it. */
export function heapMemory(): WebAssembly.Memory | undefined {
  return memoryOf(currentBackend().wasm);
}

function memoryOf({ asm, wasmMemory }: WasmModule): WebAssembly.Memory | undefined {
  const memory = asm?.memory ?? wasmMemory;
  return memory instanceof WebAssembly.Memory ? memory : undefined;
}

/** Where threads share the heap, the view of it may be older than the heap. */
function heapBytes(module: WasmModule): number {
  return memoryOf(module)?.buffer.byteLength ?? module.HEAPU8.length;
}

/**
 * The address of so many bytes, which the caller gives back by `freeOnHeap`.
 *
 * @throws UnsupportedError when the heap is exhausted
 */
export function allocateOnHeap(bytes: number): number {
  return currentBackend().wasm._malloc(bytes) >>> 0; // beyond 2 GiB it comes as a negative number
}

/** Gives back what `allocateOnHeap` gave. */
export function freeOnHeap(address: number): void {
  currentBackend().wasm._free(address);
}

/** A memory as numbers of four bytes. */
export interface MemoryWords {
  /** All of it, as whole numbers. */
  readonly ints: Int32Array;
  /** The same bytes, as float32. */
  readonly floats: Float32Array;
}

let lastWords: MemoryWords = { ints: new Int32Array(), floats: new Float32Array() };

/** Always the same views, until the memory grows: a token writes a dozen small things, and views of each would cost more. */
export function wordsOf({ buffer }: WebAssembly.Memory): MemoryWords {
  if (lastWords.ints.buffer !== buffer)
    lastWords = { ints: new Int32Array(buffer), floats: new Float32Array(buffer) };
  return lastWords;
}

/** The numbers of two tensors, each of which may still have to be moved here from another backend. */
export function viewsOnHeap(one: tf.Tensor, other: tf.Tensor): readonly [Float32Array, Float32Array] {
  for (const tensor of [one, other]) floatsOnHeap(tensor); // moving allocates: views do not outlive a larger heap
  return [floatsOnHeap(one), floatsOnHeap(other)];
}

/**
 * A float32 tensor whose numbers are still to be written.
 *
 * @throws UnsupportedError when the heap is exhausted
 */
export function emptyOnHeap<R extends tf.Rank>(shape: tf.ShapeMap[R]): tf.Tensor<R> {
  const info = currentBackend().makeOutput([...shape], 'float32');
  return tf.engine().makeTensorFromTensorInfo(info) as tf.Tensor<R>;
}

/**
 * The same numbers under another shape of as many. Where tensors lie on the heap and nothing is taped that is another name
 * for them, and no operation.
 */
export function reshaped<R extends tf.Rank>(x: tf.Tensor, shape: tf.ShapeMap[R]): tf.Tensor<R> {
  if (tf.engine().state.gradientDepth > 0 || !hasWasmHeap()) return tf.reshape<R>(x, shape);
  const { dataId, dtype } = x;
  currentBackend().incRef(dataId);
  return tf.engine().makeTensorFromTensorInfo({ dataId, shape: [...shape], dtype }) as tf.Tensor<R>;
}

const guarded = new WeakSet<WasmModule>();
let lastGuarded: WasmModule | undefined; // the one that is asked about all the time

/**
 * Makes every allocation of the backend that fails throw. The backend itself takes no notice: it goes on at address 0,
 * over its own book-keeping and other tensors, and every later result may be wrong. Near the end of 4 GiB, of which the
 * module has all but the last 64 KiB, it also hands out memory beyond the end: such a block is lost, since to free it
 * would write there.
 */
export function guardAllocations(module: WasmModule): void {
  if (module === lastGuarded) return;
  lastGuarded = module;
  if (guarded.has(module)) return;
  guarded.add(module);
  module._free(module._malloc(1)); // the module replaces its functions by others the first time they are called
  const { _malloc: allocate } = module;
  module._malloc = (bytes) => {
    // The module takes a larger count for a negative one: it would give memory away, and succeed.
    const address = bytes < 2 ** 31 ? allocate.call(module, bytes) : 0;
    const isInside = address !== 0 && (address >>> 0) + bytes <= heapBytes(module);
    if (isInside || bytes === 0) return address;
    throw new UnsupportedError(
      'wasm',
      'the heap of the wasm backend is exhausted',
      ['an allocation failed'],
      {
        'bytes requested': bytes,
        'heap bytes': heapBytes(module),
      },
    );
  };
}

function currentBackend(): WasmBackend {
  return tf.backend() as unknown as WasmBackend;
}
