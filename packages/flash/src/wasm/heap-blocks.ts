// What a call writes beside its tensors, and where these lie: on the heap of the wasm backend. All is given back at its end.
import {
  addressOnHeap,
  allocateOnHeap,
  freeOnHeap,
  heapMemory,
  type MemoryWords,
  wordsOf,
} from '@polyhead/core/kernel';
import type * as tf from '@tensorflow/tfjs-core';
import { structures } from './compiled';

type Structures = typeof structures;
type FieldsOf<Name extends keyof Structures> = { readonly [field in keyof Structures[Name]]: number };

/** Where the fields of a structure are, in words from its start, and how many it has. */
interface Layout {
  readonly words: number;
  readonly fields: { readonly [field: string]: { readonly word: number; readonly isFloat: boolean } };
}

const layouts = Object.fromEntries(
  Object.entries(structures).map(([name, types]) => {
    const entries = Object.entries(types).map(
      ([field, type], word) => [field, { word, isFloat: (type as string) === 'f32' }] as const,
    );
    return [name, { words: entries.length, fields: Object.fromEntries(entries) }];
  }),
) as unknown as Readonly<Record<keyof Structures, Layout>>;

/** From one structure to the next. */
export function bytesOf(name: keyof Structures): number {
  return layouts[name].words * 4;
}

function writeFields(
  { ints, floats }: MemoryWords,
  from: number,
  { fields }: Layout,
  values: { readonly [field: string]: number },
): void {
  for (const name in values) {
    const { word, isFloat } = fields[name]!;
    if (isFloat) floats[from + word] = values[name]!;
    else ints[from + word] = values[name]!;
  }
}

// What is small shares blocks of this size: a call of one token takes one.
const sharedBytes = 4096;
const smallBytes = 512;

export class HeapBlocks {
  #addresses: number[] = [];
  #next = 0; // of the block that is shared
  #end = 0;

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

  /** Structures that follow each other. */
  writeAll<Name extends keyof Structures>(name: Name, all: readonly FieldsOf<Name>[]): number {
    const layout = layouts[name];
    const address = this.reserve(all.length * layout.words * 4);
    const words = wordsOf(this.memory);
    for (let n = 0; n < all.length; n++) writeFields(words, address / 4 + n * layout.words, layout, all[n]!);
    return address;
  }

  /** One structure, whose fields come in parts: where one is in several the last holds, and what is in none is 0. */
  writeParts<Name extends keyof Structures>(
    name: Name,
    parts: readonly (Partial<FieldsOf<Name>> | undefined)[],
  ): number {
    const layout = layouts[name];
    const address = this.reserve(layout.words * 4);
    const words = wordsOf(this.memory);
    words.ints.fill(0, address / 4, address / 4 + layout.words);
    for (const part of parts) if (part) writeFields(words, address / 4, layout, part as FieldsOf<Name>);
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
