// Writes what `readSafetensors` reads: https://huggingface.co/docs/safetensors.
import { ConfigError, ShapeError } from '@polyhead/core';
import { toBfloat16, toFloat16 } from '../files/round';

/** Numbers of one tensor. */
export interface TensorNumbers {
  /** Sizes of its axes. */
  readonly shape: readonly number[];
  /** Row by row. */
  readonly numbers: Float32Array;
}

/** How a file is written. */
export interface WriteOptions {
  /** The type of all numbers; float16 and bfloat16 are rounded to the nearest. Default: 'F32', as they are. */
  readonly type?: 'F32' | 'F16' | 'BF16' | undefined;
  /** What the file says of itself. Default: nothing. */
  readonly metadata?: { readonly [name: string]: string } | undefined;
}

const where = 'writeSafetensors';

const encoders = {
  F32: { bytes: 4, encode: (numbers: Float32Array) => numbers },
  F16: { bytes: 2, encode: toFloat16 },
  BF16: { bytes: 2, encode: toBfloat16 },
};

/**
 * The bytes of a safetensors file.
 *
 * @param tensors by name, in the order of the file
 * @throws ShapeError for numbers that do not fill their shape, ConfigError for a type that is not written or a name that is taken
 */
export function writeSafetensors(
  tensors: Iterable<readonly [string, TensorNumbers]>,
  options: WriteOptions = {},
): Uint8Array {
  const { type = 'F32', metadata } = options;
  if (!Object.hasOwn(encoders, type)) throw new ConfigError(where, 'type must be F32, F16 or BF16', { type });
  const { bytes: numberBytes, encode } = encoders[type];
  const entries = [...new Map(tensors)];
  let end = 0;
  const places = entries.map(([name, { shape, numbers }]) => {
    checkTensor(name, shape, numbers);
    const start = end;
    end += numbers.length * numberBytes;
    return [name, { dtype: type, shape, data_offsets: [start, end] }] as const;
  });
  const header = new TextEncoder().encode(
    JSON.stringify({ ...(metadata && { __metadata__: metadata }), ...Object.fromEntries(places) }),
  );
  const headerLength = Math.ceil(header.length / 8) * 8; // numbers begin at a multiple of 8
  const file = new Uint8Array(8 + headerLength + end).fill(0x20, 8, 8 + headerLength);
  new DataView(file.buffer).setBigUint64(0, BigInt(headerLength), true);
  file.set(header, 8);
  let at = 8 + headerLength;
  for (const [, { numbers }] of entries) {
    const { buffer, byteOffset, byteLength } = encode(numbers);
    file.set(new Uint8Array(buffer, byteOffset, byteLength), at);
    at += byteLength;
  }
  return file;
}

function checkTensor(name: string, shape: readonly number[], numbers: Float32Array): void {
  if (name === '__metadata__') throw new ConfigError(where, 'no tensor may be called __metadata__', { name });
  const isFilled =
    numbers instanceof Float32Array && shape.reduce((size, n) => size * n, 1) === numbers.length;
  if (!isFilled)
    throw new ShapeError(where, `${name} must have as many float32 numbers as its shape`, {
      shape,
      numbers: numbers?.length,
    });
}
