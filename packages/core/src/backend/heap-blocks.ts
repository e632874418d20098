// What a call writes beside its tensors, and where these lie: on the heap of the wasm backend. All is given back at its end.
import type * as tf from '@tensorflow/tfjs-core';
import { addressOnHeap, allocateOnHeap, freeOnHeap, heapMemory, wordsOf } from './wasm-heap';

// What is small shares blocks of this size: a call of one token takes one.
const sharedBytes = 4096;
const smallBytes = 512;

/** Memory that a call of a kernel takes, and the places of its tensors, on the heap of the wasm backend. */
export class HeapBlocks {
  #addresses: number[] = [];
  #next = 0; // of the block that is shared
  #end = 0;

  /** In which all addresses are. */
  get memory(): WebAssembly.Memory {
    return heapMemory()!;
  }

  /** Where the numbers of a tensor lie. */
  addressOf(tensor: tf.Tensor): number {
    return addressOnHeap(tensor);
  }

  /** Where those of a result are to be written. */
  resultAt(tensor: tf.Tensor): number {
    return addressOnHeap(tensor);
  }

  /** Where those of a float32 result are to be added to zeros. */
  sumsAt(tensor: tf.Tensor): number {
    const address = this.resultAt(tensor);
    this.floatsAt(address, tensor.size).fill(0);
    return address;
  }

  /** Results are in their tensors from now on. */
  finishResults(): void {}

  /**
   * Bytes that may hold anything.
   *
   * @throws UnsupportedError when the heap is exhausted
   */
  reserve(bytes: number): number {
    if (bytes > smallBytes) return this.#allocate(bytes);
    const size = Math.max(16, Math.ceil(bytes / 16) * 16);
    if (this.#next + size > this.#end) {
      this.#next = this.#allocate(sharedBytes);
      this.#end = this.#next + sharedBytes;
    }
    this.#next += size;
    return this.#next - size;
  }

  #allocate(bytes: number): number {
    const address = allocateOnHeap(bytes);
    this.#addresses.push(address);
    return address;
  }

  /** Zeros of float32. */
  zeros(numbers: number): number {
    const address = this.reserve(numbers * 4);
    this.floatsAt(address, numbers).fill(0);
    return address;
  }

  /** A copy of numbers of four bytes. */
  write(numbers: Int32Array | Float32Array | Uint32Array): number {
    const address = this.reserve(numbers.byteLength);
    const { ints, floats } = wordsOf(this.memory);
    (numbers instanceof Float32Array ? floats : ints).set(numbers, address / 4);
    return address;
  }

  /** A copy of what lies there. */
  floats(address: number, count: number): Float32Array {
    return this.floatsAt(address, count).slice();
  }

  /** What lies there, until the next allocation. */
  floatsAt(address: number, count: number): Float32Array {
    return new Float32Array(this.memory.buffer, address, count);
  }

  /** Gives everything back. */
  release(): void {
    for (const address of this.#addresses) freeOnHeap(address);
    this.abandon();
  }

  /** Gives nothing back: a thread that is lost may still write there. */
  abandon(): void {
    this.#addresses = [];
    this.#next = 0;
    this.#end = 0;
  }
}
