// What a call writes beside its tensors, and where these lie: on the heap of the wasm backend. All is given back at its end.
import { addressOnHeap, allocateOnHeap, freeOnHeap, heapMemory } from '@polyhead/core/kernel';
import type * as tf from '@tensorflow/tfjs-core';
import { structures } from './compiled';

type Structures = typeof structures;

/** Where the fields of a structure are, in bytes, and how many it has. */
interface Layout {
  readonly size: number;
  readonly fields: ReadonlyMap<string, { readonly at: number; readonly isFloat: boolean }>;
}

const layouts = Object.fromEntries(
  Object.entries(structures).map(([name, fields]) => {
    const entries = Object.entries(fields).map(
      ([field, type], n) => [field, { at: n * 4, isFloat: (type as string) === 'f32' }] as const,
    );
    return [name, { size: entries.length * 4, fields: new Map(entries) }];
  }),
) as unknown as Readonly<Record<keyof Structures, Layout>>;

function writeFields(
  words: DataView,
  from: number,
  { fields }: Layout,
  values: { readonly [field: string]: number },
): void {
  for (const name in values) {
    const { at, isFloat } = fields.get(name)!;
    if (isFloat) words.setFloat32(from + at, values[name]!, true);
    else words.setInt32(from + at, values[name]!, true);
  }
}

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
    const layout = layouts[name];
    const words = new DataView(new ArrayBuffer(all.length * layout.size));
    all.forEach((fields, n) => {
      writeFields(words, n * layout.size, layout, fields);
    });
    return this.write(new Int32Array(words.buffer));
  }

  /** One structure, whose fields come in parts: where one is in several, the last holds. */
  writeParts(name: keyof Structures, parts: readonly { readonly [field: string]: number }[]): number {
    const layout = layouts[name];
    const words = new DataView(new ArrayBuffer(layout.size));
    for (const part of parts) writeFields(words, 0, layout, part);
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
