// What all readers give: names, shapes and types at once, numbers when they are asked for, one tensor at a time.
import { UnsupportedError } from '@polyhead/core';
import { FileError } from './errors';
import type { ByteSource } from './files/byte-source';
import type { NumberType } from './files/number-types';

/** What is known of a tensor before its numbers are read. */
export interface TensorFacts {
  /** Outermost axis first, whatever the format. */
  readonly shape: readonly number[];
  /** As the format calls it: "F32", "BF16", "Q4_1". */
  readonly type: string;
  /** How many bytes it takes in the file. */
  readonly byteLength: number;
}

/** An opened file of weights, or several that belong together. */
export interface Checkpoint {
  /** "safetensors", "gguf" or "torch". */
  readonly format: string;
  /** What the file says of itself. */
  readonly metadata: ReadonlyMap<string, unknown>;
  /** By name, in the order of the file. */
  readonly tensors: ReadonlyMap<string, TensorFacts>;
  /**
   * The numbers of one tensor, row by row, as an array of its own.
   *
   * @throws FileError where there is no such tensor, the file cannot be read, or a number does not fit into float32;
   *   UnsupportedError for more numbers than memory holds
   */
  read(name: string): Promise<Float32Array>;
  /**
   * The bytes of one tensor, as they lie: numbers of 4 and 8 bits stay blocks with their scales.
   *
   * @throws FileError where there is no such tensor, or the file cannot be read
   */
  readBytes(name: string): Promise<Uint8Array>;
}

/** Where a tensor lies in a file. */
export interface StoredTensor extends TensorFacts {
  /** How its bytes become numbers. */
  readonly numberType: NumberType;
  /** From the beginning of the file. */
  readonly start: number;
}

/** What a reader has found in a file. */
export interface FoundTensors {
  /** The format's name. */
  readonly format: string;
  /** What the file says of itself. */
  readonly metadata: ReadonlyMap<string, unknown>;
  /** By name. */
  readonly tensors: ReadonlyMap<string, StoredTensor>;
}

/** A checkpoint whose tensors each lie in one piece of one file. */
export function openCheckpoint(source: ByteSource, { format, metadata, tensors }: FoundTensors): Checkpoint {
  const readBytes = (name: string) => {
    const { start, byteLength } = storedTensor(tensors, name);
    return source.readBytes(start, byteLength);
  };
  const facts = [...tensors].map(
    ([name, { shape, type, byteLength }]) => [name, { shape, type, byteLength }] as const,
  );
  return {
    format,
    metadata,
    tensors: new Map(facts),
    readBytes: async (name) => readBytes(name),
    async read(name) {
      const { numberType } = storedTensor(tensors, name);
      return decode(name, numberType, await readBytes(name));
    },
  };
}

/** @throws UnsupportedError for more numbers than an array can hold */
export function decode(name: string, numberType: NumberType, bytes: Uint8Array): Float32Array {
  try {
    return numberType.decode(bytes);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UnsupportedError('read', 'the numbers of a tensor must fit into memory', [error.message], {
      name,
      bytes: bytes.length,
    });
  }
}

/** @throws FileError where there is none */
export function storedTensor<T>(tensors: ReadonlyMap<string, T>, name: string): T {
  const tensor = tensors.get(name);
  if (!tensor) throw new FileError('read', 'the checkpoint must have the tensor', { name });
  return tensor;
}
