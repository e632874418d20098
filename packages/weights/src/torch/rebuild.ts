// All that a pickle of PyTorch may ask for: dictionaries in order, tensors, parameters, sizes, and the types of storages.
import { UnsupportedError } from '@polyhead/core';
import { FileError } from '../errors';
import { type NumberType, type PlainType, plainType } from '../files/number-types';
import { rowMajor, type Strided, sizeOf } from '../load/strided';
import type { ZipEntry } from './zip';

const where = 'readTorch';

/** The type of a storage. */
export class StorageType {
  constructor(
    /** As PyTorch calls it: "FloatStorage". */
    readonly name: string,
    /** As checkpoints call it: "F32". */
    readonly type: string,
    /** How its bytes become numbers. */
    readonly numberType: NumberType,
  ) {}
}

/** Numbers that tensors are parts of. */
export class Storage {
  constructor(
    /** What they are. */
    readonly type: StorageType,
    /** Where they lie. */
    readonly entry: ZipEntry,
    /** How many they are. */
    readonly count: number,
  ) {}
}

/** A part of a storage, seen as a tensor. */
export class TorchTensor implements Strided {
  constructor(
    /** Its numbers. */
    readonly storage: Storage,
    /** Sizes of the axes. */
    readonly shape: readonly number[],
    /** How far apart neighbors along each axis lie. */
    readonly strides: readonly number[],
    /** Where its first number lies, counted in numbers. */
    readonly offset: number,
  ) {}

  /** How many numbers lie from its first to its last. */
  get extent(): number {
    if (sizeOf(this.shape) === 0) return 0;
    return this.shape.reduce((last, size, axis) => last + (size - 1) * this.strides[axis]!, 1);
  }
}

const storageTypes: Readonly<Record<string, PlainType>> = {
  DoubleStorage: 'F64',
  FloatStorage: 'F32',
  HalfStorage: 'F16',
  BFloat16Storage: 'BF16',
  LongStorage: 'I64',
  IntStorage: 'I32',
  ShortStorage: 'I16',
  CharStorage: 'I8',
  ByteStorage: 'U8',
  BoolStorage: 'BOOL',
};

type Arguments = readonly unknown[];

const functions: ReadonlyMap<string, (values: Arguments) => unknown> = new Map<
  string,
  (values: Arguments) => unknown
>([
  ['collections.OrderedDict', orderedDict],
  ['torch.Size', ([sizes]) => sizes],
  ['torch._utils._rebuild_tensor_v2', rebuildTensor],
  ['torch._utils._rebuild_parameter', ([tensor]) => tensor],
]);

/**
 * What a pickle means by a name: a function of this file, or the type of a storage.
 *
 * @throws UnsupportedError for any other name
 */
export function rebuild(name: string): StorageType | ((values: Arguments) => unknown) {
  const known = functions.get(name);
  if (known) return known;
  const storage = name.replace(/^torch\./, '');
  if (name !== storage && Object.hasOwn(storageTypes, storage)) {
    const type = storageTypes[storage]!;
    return new StorageType(storage, type, plainType(type));
  }
  throw new UnsupportedError(where, 'a pickle may rebuild tensors only: nothing of a file is run', [
    `it asks for ${name}; save model.state_dict() instead`,
  ]);
}

function orderedDict([pairs = []]: Arguments): ReadonlyMap<unknown, unknown> {
  const isPairs = Array.isArray(pairs) && pairs.every((pair) => Array.isArray(pair) && pair.length === 2);
  if (!isPairs) throw new FileError(where, 'an OrderedDict must be made of pairs', {});
  return new Map(pairs as [unknown, unknown][]);
}

function rebuildTensor([storage, offset, shape, strides]: Arguments): TorchTensor {
  const isFine =
    storage instanceof Storage &&
    isSizes(shape) &&
    isSizes(strides) &&
    shape.length === strides.length &&
    isSizes([offset]);
  if (!isFine)
    throw new FileError(where, 'a tensor must have a storage, an offset, sizes and strides', {
      shape,
      strides,
    });
  const tensor = new TorchTensor(storage, shape, strides, offset as number);
  const { extent } = tensor;
  if (!(tensor.offset + extent <= storage.count))
    throw new FileError(where, 'a tensor must lie within its storage', {
      shape,
      strides,
      offset,
      'storage holds': storage.count,
    });
  // Sizes are checked by the last number's place: a tensor that repeats numbers could still be of any size.
  if (!(sizeOf(shape) <= extent))
    throw new UnsupportedError(
      where,
      'numbers of a tensor must lie apart',
      ['save tensor.contiguous() instead'],
      { shape, strides },
    );
  return tensor;
}

function isSizes(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}

/** Whether the numbers of a tensor lie row by row. */
export function isContiguous({ shape, strides }: TorchTensor): boolean {
  const { strides: expected } = rowMajor(shape);
  return shape.every((size, axis) => size <= 1 || strides[axis] === expected[axis]);
}
