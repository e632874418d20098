// Weights in blocks of 32 numbers of 8 or 4 bits with a scale, as files of GGUF hold them, and `int8` of ours:
//
//   int8  s · q     Q8_0  d · q     Q4_0  d · (q − 8)     Q4_1  d · q + m
//
// d and m are float16 before the numbers of a block; s is float32, one for some blocks, in an array beside. Of a byte of 4-bit
// numbers the low half is one of the first sixteen, the high half of the second.

/** Numbers of a block. */
export const blockSize = 32;

/** How weights can be kept. */
export type BlockFormat = 'int8' | 'Q8_0' | 'Q4_0' | 'Q4_1';

/** Bytes of a block in each format. */
export const blockBytes: Readonly<Record<BlockFormat, number>> = { int8: 32, Q8_0: 34, Q4_0: 18, Q4_1: 20 };

/** The numbers of blocks that follow each other. */
export function decodeBlocks(format: BlockFormat, bytes: Uint8Array, scaleAt: (block: number) => number) {
  const size = blockBytes[format];
  const blocks = bytes.length / size;
  const numbers = new Float32Array(blocks * blockSize);
  for (let block = 0; block < blocks; block++) {
    const at = block * size;
    const to = block * blockSize;
    const scale = format === 'int8' ? scaleAt(block) : halfAt(bytes, at);
    if (format === 'int8' || format === 'Q8_0') {
      const first = at + size - blockSize;
      for (let n = 0; n < blockSize; n++) numbers[to + n] = scale * ((bytes[first + n]! << 24) >> 24);
    } else {
      const [middle, offset] = format === 'Q4_1' ? [0, halfAt(bytes, at + 2)] : [8, 0];
      const first = at + size - blockSize / 2;
      for (let n = 0; n < blockSize / 2; n++) {
        const both = bytes[first + n]!;
        numbers[to + n] = scale * ((both & 15) - middle) + offset;
        numbers[to + n + 16] = scale * ((both >> 4) - middle) + offset;
      }
    }
  }
  return numbers;
}

/** The float16 that lies there. */
function halfAt(bytes: Uint8Array, at: number): number {
  const bits = bytes[at]! | (bytes[at + 1]! << 8);
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
  return bits & 0x8000 ? -size : size;
}
