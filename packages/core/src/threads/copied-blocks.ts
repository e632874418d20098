// Tensors copied into a memory that threads share, where tfjs's own is not such a one, as in Node.
import * as tf from '@tensorflow/tfjs-core';
import { HeapBlocks } from '../backend/heap-blocks';
import { addressOnHeap, heapMemory } from '../backend/wasm-heap';

/** What threads have not finished. One thread can. */
export class ThreadsFailed extends Error {}

const pageBytes = 2 ** 16;
const maximum = 2 ** 15; // pages: 2 GiB of addresses, most of which are never used

/** A shared memory that is taken from one end on, and given back from there. */
export class SharedStack {
  readonly memory = new WebAssembly.Memory({ initial: 1, maximum, shared: true });
  #top = 64; // no address is 0

  get top(): number {
    return this.#top;
  }

  /** @throws ThreadsFailed where the memory cannot grow as far */
  reserve(bytes: number): number {
    const address = this.#top;
    const top = Math.ceil((address + bytes) / 64) * 64;
    const missing = top - this.memory.buffer.byteLength;
    if (missing > 0) this.#grow(Math.ceil(missing / pageBytes));
    this.#top = top;
    return address;
  }

  #grow(pages: number): void {
    try {
      this.memory.grow(pages);
    } catch {
      throw new ThreadsFailed('the memory that threads share cannot grow');
    }
  }

  giveBackTo(top: number): void {
    this.#top = top;
  }
}

export class CopiedBlocks extends HeapBlocks {
  readonly #stack: SharedStack;
  readonly #bottom: number;
  readonly #copies = new Map<object, number>();
  readonly #results: { readonly tensor: tf.Tensor; readonly address: number }[] = [];

  constructor(stack: SharedStack) {
    super();
    this.#stack = stack;
    this.#bottom = stack.top;
  }

  override get memory(): WebAssembly.Memory {
    return this.#stack.memory;
  }

  override addressOf(tensor: tf.Tensor): number {
    const known = this.#copies.get(tensor.dataId);
    if (known !== undefined) return known;
    const address = this.reserve(bytesOf(tensor));
    this.#bytesAt(address, tensor).set(bytesOnHeap(tensor));
    this.#copies.set(tensor.dataId, address);
    return address;
  }

  override resultAt(tensor: tf.Tensor): number {
    const address = this.reserve(bytesOf(tensor));
    this.#results.push({ tensor, address });
    return address;
  }

  override finishResults(): void {
    for (const { tensor, address } of this.#results) bytesOnHeap(tensor).set(this.#bytesAt(address, tensor));
  }

  override reserve(bytes: number): number {
    return this.#stack.reserve(bytes);
  }

  override release(): void {
    this.#stack.giveBackTo(this.#bottom);
  }

  #bytesAt(address: number, tensor: tf.Tensor): Uint8Array {
    return new Uint8Array(this.memory.buffer, address, bytesOf(tensor));
  }
}

/** How much memory the numbers of a tensor take. */
export function bytesOf(tensor: tf.Tensor): number {
  return tensor.size * tf.util.bytesPerElement(tensor.dtype);
}

function bytesOnHeap(tensor: tf.Tensor): Uint8Array {
  const address = addressOnHeap(tensor); // may move the tensor here, and the heap with it
  return new Uint8Array(heapMemory()!.buffer, address, bytesOf(tensor));
}
