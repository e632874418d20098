// The same weights of 4 bits for peers that write them down differently.

/** O rows of I numbers: scale · (number - zero), a scale and a zero for each 32. */
export interface FourBitWeights {
  /** 0 to 15: [O, I] */
  readonly numbers: Uint8Array;
  /** [O, I / 32] */
  readonly scales: Float32Array;
  /** [O, I / 32] */
  readonly zeros: Uint8Array;
}

/** Made up: scales of about 2^-6 as in a file, and so coarse that float16 holds them and their products with zeros exactly. */
export function fourBitWeights(outDim: number, inDim: number): FourBitWeights {
  const blocks = (outDim * inDim) / 32;
  return {
    numbers: Uint8Array.from({ length: outDim * inDim }, (_, n) => ((n * 37) ^ (n >> 7)) & 15),
    scales: Float32Array.from({ length: blocks }, (_, n) => 2 ** -6 * (1 + ((n * 5) % 8) / 8)),
    zeros: Uint8Array.from({ length: blocks }, (_, n) => 7 + ((n * 3) % 2)),
  };
}

/** Blocks of GGUF's Q4_1: scale and least number as float16, then numbers, the first sixteen in the low halves of bytes. */
export function q41Blocks({ numbers, scales, zeros }: FourBitWeights): Uint8Array {
  const bytes = new Uint8Array(scales.length * 20);
  const view = new DataView(bytes.buffer);
  scales.forEach((scale, block) => {
    view.setUint16(20 * block, halfOf(scale), true);
    view.setUint16(20 * block + 2, 0x8000 | halfOf(scale * zeros[block]!), true);
    const own = numbers.subarray(32 * block, 32 * block + 32);
    for (let n = 0; n < 16; n++) bytes[20 * block + 4 + n] = own[n]! | (own[n + 16]! << 4);
  });
  return bytes;
}

/** The bits of a positive float16 that is no less than 2^-14. */
function halfOf(x: number): number {
  const exponent = Math.floor(Math.log2(x));
  return ((exponent + 15) << 10) | ((x / 2 ** exponent - 1) * 1024);
}
