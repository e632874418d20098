// The types of numbers that files hold one by one, little-endian, and how each becomes float32.
import { FileError } from '../errors';

/** How numbers of one type lie, and what they are. */
export interface NumberType {
  /** How many numbers lie together: 1, or more where they share a scale. */
  readonly blockSize: number;
  /** How many bytes a block takes. */
  readonly blockBytes: number;
  /** @param bytes whole blocks, at the start of a buffer of their own */
  decode(bytes: Uint8Array): Float32Array;
}

/** How many bytes a number takes, and how some become float32. */
type Plain = readonly [number, NumberType['decode']];

const decoders = {
  F64: [8, (bytes) => Float32Array.from(new Float64Array(...parts(bytes, 8)))],
  F32: [4, (bytes) => new Float32Array(...parts(bytes, 4))],
  F16: [2, float16],
  BF16: [2, bfloat16],
  I64: [8, (bytes) => exactly(new BigInt64Array(...parts(bytes, 8)))],
  U64: [8, (bytes) => exactly(new BigUint64Array(...parts(bytes, 8)))],
  I32: [4, (bytes) => exactly(new Int32Array(...parts(bytes, 4)))],
  U32: [4, (bytes) => exactly(new Uint32Array(...parts(bytes, 4)))],
  I16: [2, (bytes) => Float32Array.from(new Int16Array(...parts(bytes, 2)))],
  U16: [2, (bytes) => Float32Array.from(new Uint16Array(...parts(bytes, 2)))],
  I8: [1, (bytes) => Float32Array.from(new Int8Array(...parts(bytes, 1)))],
  U8: [1, (bytes) => Float32Array.from(bytes)],
  BOOL: [1, (bytes) => Float32Array.from(bytes, (byte) => (byte === 0 ? 0 : 1))],
} satisfies Readonly<Record<string, Plain>>;

/** The types of single numbers, by the names that safetensors gives them. */
export type PlainType = keyof typeof decoders;

/** All of them. */
export const plainTypeNames = (): readonly string[] => Object.keys(decoders);

/** Whether a text is the name of one. */
export function isPlainType(name: unknown): name is PlainType {
  return typeof name === 'string' && Object.hasOwn(decoders, name);
}

/** Reads single numbers. float64 is rounded; a whole number that float32 does not hold is refused. */
export function plainType(name: PlainType): NumberType {
  const [blockBytes, decode] = decoders[name];
  return { blockSize: 1, blockBytes, decode };
}

/** What a typed array is made of. */
function parts(bytes: Uint8Array, size: number): [ArrayBuffer, number, number] {
  return [bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length / size];
}

/** IEEE 754 binary16: one bit of sign, five of exponent, ten of fraction. */
export function halfToNumber(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const fraction = half & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

let allHalves: Float32Array | undefined;

/** Looked up: there are 65,536 of them. */
function float16(bytes: Uint8Array): Float32Array {
  allHalves ??= Float32Array.from({ length: 2 ** 16 }, (_, half) => halfToNumber(half));
  const table = allHalves;
  const halves = new Uint16Array(...parts(bytes, 2));
  const numbers = new Float32Array(halves.length);
  for (let n = 0; n < halves.length; n++) numbers[n] = table[halves[n]!]!;
  return numbers;
}

/** The upper half of a float32. */
function bfloat16(bytes: Uint8Array): Float32Array {
  const halves = new Uint16Array(...parts(bytes, 2));
  const numbers = new Float32Array(halves.length);
  const bits = new Uint32Array(numbers.buffer);
  for (let n = 0; n < halves.length; n++) bits[n] = halves[n]! << 16;
  return numbers;
}

function exactly(integers: ArrayLike<number | bigint>): Float32Array {
  const numbers = new Float32Array(integers.length);
  for (let n = 0; n < integers.length; n++) {
    const integer = integers[n]!;
    const number = Math.fround(Number(integer));
    numbers[n] = number;
    if (typeof integer === 'bigint' ? BigInt(number) === integer : number === integer) continue;
    throw new FileError('read', 'a whole number must fit into float32; readBytes gives it as it lies', {
      integer,
    });
  }
  return numbers;
}
