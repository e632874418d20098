// GGUF's blocks of 32 numbers: one scale, sometimes an offset, and whole numbers of 4, 5 or 8 bits.
//
//   Q4_0  d · (q − 8)      Q4_1  d · q + m      Q5_0  d · (q − 16)      Q5_1  d · q + m      Q8_0  d · q
//
// d and m are float16. Of each byte of the 4-bit parts, the low half is a number of the first sixteen, the high half of the
// second. The fifth bits of all numbers lie in four bytes of their own.
import { halfToNumber, type NumberType } from '../files/number-types';

const blockSize = 32;

/** d · (q − 8): d, then 16 bytes of 4-bit numbers. */
export const Q4_0 = /* @__PURE__ */ nibbles({ fifthBits: false, hasOffset: false });
/** d · q + m: d, m, then 16 bytes of 4-bit numbers. */
export const Q4_1 = /* @__PURE__ */ nibbles({ fifthBits: false, hasOffset: true });
/** d · (q − 16): d, 4 bytes of fifth bits, then 16 bytes of 4-bit numbers. */
export const Q5_0 = /* @__PURE__ */ nibbles({ fifthBits: true, hasOffset: false });
/** d · q + m: d, m, 4 bytes of fifth bits, then 16 bytes of 4-bit numbers. */
export const Q5_1 = /* @__PURE__ */ nibbles({ fifthBits: true, hasOffset: true });

/** d · q: d, then 32 signed bytes. */
export const Q8_0: NumberType = {
  blockSize,
  blockBytes: 34,
  decode(bytes) {
    const numbers = new Float32Array((bytes.length / 34) * blockSize);
    for (let n = 0, at = 0; at < bytes.length; n += blockSize, at += 34) {
      const d = halfAt(bytes, at);
      for (let i = 0; i < blockSize; i++) numbers[n + i] = d * signed(bytes[at + 2 + i]!);
    }
    return numbers;
  },
};

function nibbles({ fifthBits, hasOffset }: { fifthBits: boolean; hasOffset: boolean }): NumberType {
  const bitsAt = hasOffset ? 4 : 2;
  const numbersAt = bitsAt + (fifthBits ? 4 : 0);
  const blockBytes = numbersAt + blockSize / 2;
  const half = fifthBits ? 16 : 8;
  const middle = hasOffset ? 0 : half;
  const decode = (bytes: Uint8Array) => {
    const numbers = new Float32Array((bytes.length / blockBytes) * blockSize);
    for (let n = 0, at = 0; at < bytes.length; n += blockSize, at += blockBytes) {
      const d = halfAt(bytes, at);
      const m = hasOffset ? halfAt(bytes, at + 2) : 0;
      const bits = fifthBits ? wordAt(bytes, at + bitsAt) : 0;
      for (let i = 0; i < blockSize / 2; i++) {
        const both = bytes[at + numbersAt + i]!;
        const low = (both & 15) | (((bits >>> i) & 1) << 4);
        const high = (both >> 4) | (((bits >>> (i + 16)) & 1) << 4);
        numbers[n + i] = d * (low - middle) + m;
        numbers[n + i + 16] = d * (high - middle) + m;
      }
    }
    return numbers;
  };
  return { blockSize, blockBytes, decode };
}

/** The float16 that lies there. */
export function halfAt(bytes: Uint8Array, at: number): number {
  return halfToNumber(bytes[at]! | (bytes[at + 1]! << 8));
}

/** A byte as a number from −128 to 127. */
export function signed(byte: number): number {
  return (byte << 24) >> 24;
}

function wordAt(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}
