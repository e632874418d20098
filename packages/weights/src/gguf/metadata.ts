// The values by key at the beginning of a GGUF file.
import { FileError } from '../errors';
import type { Cursor } from '../files/cursor';

/** A value of GGUF's metadata. */
export type GgufValue = number | bigint | boolean | string | readonly GgufValue[];

interface ValueType {
  /** How many bytes one takes at least. */
  readonly bytes: number;
  readonly read: (cursor: Cursor, key: string) => GgufValue;
}

const textType = 8;
const arrayType = 9;
const deepestArray = 4;

/** Those of fixed size, by the numbers that stand for them in files: how many bytes, and how they are read. */
const fixedTypes: Readonly<Record<number, readonly [number, (view: DataView, at: number) => GgufValue]>> = {
  0: [1, (view, at) => view.getUint8(at)],
  1: [1, (view, at) => view.getInt8(at)],
  2: [2, (view, at) => view.getUint16(at, true)],
  3: [2, (view, at) => view.getInt16(at, true)],
  4: [4, (view, at) => view.getUint32(at, true)],
  5: [4, (view, at) => view.getInt32(at, true)],
  6: [4, (view, at) => view.getFloat32(at, true)],
  7: [1, (view, at) => view.getUint8(at) !== 0],
  10: [8, (view, at) => numberOf(view.getBigUint64(at, true))],
  11: [8, (view, at) => numberOf(view.getBigInt64(at, true))],
  12: [8, (view, at) => view.getFloat64(at, true)],
};

/** The number of values, then key, type and value of each. */
export function readMetadata(where: string, cursor: Cursor): ReadonlyMap<string, GgufValue> {
  const count = cursor.count('the number of values');
  cursor.expect(count * 13, 'the values'); // the least that a key, a type and a value take
  const metadata = new Map<string, GgufValue>();
  for (let n = 0; n < count; n++) {
    const key = readText(cursor, 'a key');
    if (metadata.has(key)) throw new FileError(where, 'each key must be there once', { key });
    metadata.set(key, readValue(where, cursor, { key, depth: 0 }));
  }
  return metadata;
}

/** A length of 8 bytes, and as many bytes of UTF-8. */
export function readText(cursor: Cursor, what: string): string {
  return cursor.text(cursor.count(`the length of ${what}`), what);
}

interface Place {
  readonly key: string;
  /** How many arrays are around it. */
  readonly depth: number;
}

function readValue(where: string, cursor: Cursor, place: Place): GgufValue {
  const id = cursor.uint32(`the type of ${place.key}`);
  return id === arrayType
    ? readArray(where, cursor, place)
    : typeOf(where, id, place).read(cursor, place.key);
}

function readArray(where: string, cursor: Cursor, { key, depth }: Place): readonly GgufValue[] {
  if (depth === deepestArray)
    throw new FileError(where, `arrays must nest at most ${deepestArray} deep`, { key });
  const id = cursor.uint32(`the type of ${key}`);
  const count = cursor.count(`the length of ${key}`);
  const inner = { key, depth: depth + 1 };
  const { bytes, read } = id === arrayType ? nested(where, inner) : typeOf(where, id, inner);
  cursor.expect(count * bytes, key);
  return Array.from({ length: count }, () => read(cursor, key));
}

function nested(where: string, place: Place): ValueType {
  return { bytes: 12, read: (cursor) => readArray(where, cursor, place) };
}

function typeOf(where: string, id: number, { key }: Place): ValueType {
  if (id === textType) return { bytes: 8, read: readText };
  const fixed = fixedTypes[id];
  if (!fixed) throw new FileError(where, 'a value must have one of the types 0 to 12', { key, type: id });
  const [bytes, read] = fixed;
  return { bytes, read: (cursor) => cursor.take(bytes, key, read) };
}

function numberOf(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
