// GGUF's blocks of 256 numbers ("K"): a float16 scale d, sometimes an offset scale dmin, and a small whole scale for each 16 or
// 32 numbers.
//
//   Q2_K, Q4_K, Q5_K  d · scale · q − dmin · min      Q3_K  d · scale · (q − 4)      Q6_K  d · scale · (q − 32)
import type { NumberType } from '../files/number-types';
import { halfAt, signed } from './small-blocks';

const blockSize = 256;

/** Writes the 256 numbers of the block that begins at `at`, from `n` on. */
type DecodeBlock = (bytes: Uint8Array, at: number, numbers: Float32Array, n: number) => void;

/** 16 scales and minima of 4 bits; 64 bytes of 2-bit numbers; d; dmin. */
export const Q2_K = /* @__PURE__ */ superBlocks(84, (bytes, at, numbers, n) => {
  const d = halfAt(bytes, at + 80);
  const dmin = halfAt(bytes, at + 82);
  for (let i = 0; i < blockSize; i++) {
    const scale = bytes[at + (i >> 4)]!;
    const q = (bytes[at + 16 + byteOf2Bits(i)]! >> shiftOf2Bits(i)) & 3;
    numbers[n + i] = d * (scale & 15) * q - dmin * (scale >> 4);
  }
});

/** 32 bytes of third bits; 64 bytes of 2-bit numbers; 12 bytes of 6-bit scales; d. */
export const Q3_K = /* @__PURE__ */ superBlocks(110, (bytes, at, numbers, n) => {
  const d = halfAt(bytes, at + 108);
  for (let i = 0; i < blockSize; i++) {
    const low = (bytes[at + 32 + byteOf2Bits(i)]! >> shiftOf2Bits(i)) & 3;
    const third = (bytes[at + (i & 31)]! >> (i >> 5)) & 1;
    numbers[n + i] = d * scaleOf3(bytes, at + 96, i >> 4) * (low + 4 * third - 4);
  }
});

/** d; dmin; 12 bytes of 6-bit scales and minima; 128 bytes of 4-bit numbers. */
export const Q4_K = /* @__PURE__ */ superBlocks(144, /* @__PURE__ */ scaledNibbles(0));

/** d; dmin; 12 bytes of 6-bit scales and minima; 32 bytes of fifth bits; 128 bytes of 4-bit numbers. */
export const Q5_K = /* @__PURE__ */ superBlocks(176, /* @__PURE__ */ scaledNibbles(32));

/** 128 bytes of low halves; 64 bytes of fifth and sixth bits; 16 signed scales; d. */
export const Q6_K = /* @__PURE__ */ superBlocks(210, (bytes, at, numbers, n) => {
  const d = halfAt(bytes, at + 208);
  for (let i = 0; i < blockSize; i++) {
    const half = i >> 7; // of the block
    const quarter = (i >> 5) & 3; // of that half, 32 numbers
    const both = bytes[at + 64 * half + 32 * (quarter & 1) + (i & 31)]!;
    const low = quarter < 2 ? both & 15 : both >> 4;
    const high = (bytes[at + 128 + 32 * half + (i & 31)]! >> (2 * quarter)) & 3;
    numbers[n + i] = d * signed(bytes[at + 192 + (i >> 4)]!) * ((low | (high << 4)) - 32);
  }
});

function superBlocks(blockBytes: number, decodeBlock: DecodeBlock): NumberType {
  const decode = (bytes: Uint8Array) => {
    const numbers = new Float32Array((bytes.length / blockBytes) * blockSize);
    for (let n = 0, at = 0; at < bytes.length; n += blockSize, at += blockBytes)
      decodeBlock(bytes, at, numbers, n);
    return numbers;
  };
  return { blockSize, blockBytes, decode };
}

/** Each byte holds four numbers that stand 32 apart; 32 bytes are half a block. */
function byteOf2Bits(i: number): number {
  return 32 * (i >> 7) + (i & 31);
}

function shiftOf2Bits(i: number): number {
  return 2 * ((i >> 5) & 3);
}

/** Scale j of Q3_K, of 6 bits around 32: four bits lie in the first 8 bytes, two in the last 4. */
function scaleOf3(bytes: Uint8Array, at: number, j: number): number {
  const low = j < 8 ? bytes[at + j]! & 15 : bytes[at + j - 8]! >> 4;
  const high = (bytes[at + 8 + (j & 3)]! >> (2 * (j >> 2))) & 3;
  return (low | (high << 4)) - 32;
}

/** d · scale · q − dmin · min, of numbers of 4 bits, or 5 where there are bytes of fifth bits. */
function scaledNibbles(fifthBytes: 0 | 32): DecodeBlock {
  return (bytes, at, numbers, n) => {
    const d = halfAt(bytes, at);
    const dmin = halfAt(bytes, at + 2);
    for (let part = 0; part < 8; part++) {
      const scale = d * scaleOf8(bytes, at + 4, part);
      const min = dmin * minOf8(bytes, at + 4, part);
      const from = at + 16 + fifthBytes + 32 * (part >> 1); // two parts share 32 bytes
      const shift = 4 * (part & 1);
      for (let i = 0; i < 32; i++) {
        const low = (bytes[from + i]! >> shift) & 15;
        const fifth = fifthBytes === 0 ? 0 : (bytes[at + 16 + i]! >> part) & 1;
        numbers[n + 32 * part + i] = scale * (low | (fifth << 4)) - min;
      }
    }
  };
}

// 8 scales and 8 minima of 6 bits in 12 bytes: the first four of both lie in the lower bits of the first 8 bytes; the others
// have four bits in the last 4 bytes, scales in their lower halves, and two in the upper bits of the first 8.

function scaleOf8(bytes: Uint8Array, at: number, j: number): number {
  if (j < 4) return bytes[at + j]! & 63;
  return (bytes[at + j + 4]! & 15) | ((bytes[at + j - 4]! >> 6) << 4);
}

function minOf8(bytes: Uint8Array, at: number, j: number): number {
  if (j < 4) return bytes[at + j + 4]! & 63;
  return (bytes[at + j + 4]! >> 4) | ((bytes[at + j]! >> 6) << 4);
}
