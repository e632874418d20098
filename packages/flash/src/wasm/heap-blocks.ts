// What a call writes on the heap of the wasm backend beside its tensors, and gives back at its end.
import { giveToHeap, heapMemory, takeFromHeap } from '@polyhead/core';
import { structures } from './compiled';

type Structures = typeof structures;

export class HeapBlocks {
  readonly #addresses: number[] = [];

  /** Bytes that may hold anything. */
  take(bytes: number): number {
    const address = takeFromHeap(Math.max(bytes, 4));
    this.#addresses.push(address);
    return address;
  }

  zeros(numbers: number): number {
    const address = this.take(numbers * 4);
    new Float32Array(heapMemory()!.buffer, address, numbers).fill(0);
    return address;
  }

  /** A copy of numbers of four bytes. */
  write(numbers: Int32Array | Float32Array | Uint32Array): number {
    const address = this.take(numbers.byteLength);
    const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
    new Uint8Array(heapMemory()!.buffer).set(bytes, address);
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
    return new Float32Array(heapMemory()!.buffer, address, count).slice();
  }

  release(): void {
    for (const address of this.#addresses.splice(0)) giveToHeap(address);
  }
}
