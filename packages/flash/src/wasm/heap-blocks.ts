// What a call writes beside its tensors, and where these lie: on the heap of the wasm backend. All is given back at its end.
import { addressOnHeap, allocateOnHeap, freeOnHeap, heapMemory } from '@polyhead/core/kernel';
import type * as tf from '@tensorflow/tfjs-core';
import { structures } from './compiled';

type Structures = typeof structures;

export class HeapBlocks {
  #addresses: number[] = [];

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

  /** Bytes that may hold anything. */
  reserve(bytes: number): number {
    const address = allocateOnHeap(Math.max(bytes, 4));
    this.#addresses.push(address);
    return address;
  }

  zeros(numbers: number): number {
    const address = this.reserve(numbers * 4);
    this.floatsAt(address, numbers).fill(0);
    return address;
  }

  /** A copy of numbers of four bytes. */
  write(numbers: Int32Array | Float32Array | Uint32Array): number {
    const address = this.reserve(numbers.byteLength);
    const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
    new Uint8Array(this.memory.buffer).set(bytes, address);
    return address;
  }

  /** Structures that follow each other. */
  writeAll<Name extends keyof Structures>(
    name: Name,
    all: readonly { readonly [field in keyof Structures[Name]]: number }[],
  ): number {
    const fields = Object.entries(structures[name]);
    const words = new DataView(new ArrayBuffer(all.length * fields.length * 4));
    all.forEach((values, n) => {
      fields.forEach(([field, type], place) => {
        const at = (n * fields.length + place) * 4;
        const value = values[field as keyof typeof values];
        if (type === 'f32') words.setFloat32(at, value, true);
        else words.setInt32(at, value, true);
      });
    });
    return this.write(new Int32Array(words.buffer));
  }

  /** A copy of what lies there. */
  floats(address: number, count: number): Float32Array {
    return this.floatsAt(address, count).slice();
  }

  /** What lies there, until the next allocation. */
  floatsAt(address: number, count: number): Float32Array {
    return new Float32Array(this.memory.buffer, address, count);
  }

  release(): void {
    for (const address of this.#addresses) freeOnHeap(address);
    this.#addresses = [];
  }

  /** Gives nothing back: a thread that is lost may still write there. */
  abandon(): void {
    this.#addresses = [];
  }
}
