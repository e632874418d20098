// float32 to 16 bits, to the nearest, and where two are equally near to the even one, as IEEE 754 says.

const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

/** The bits of the float16 nearest to a number. */
export function numberToHalf(number: number): number {
  float[0] = number;
  const sign = (bits[0]! >>> 16) & 0x8000;
  const size = Math.abs(float[0]!);
  if (Number.isNaN(size)) return sign | 0x7e00;
  if (size >= 65520) return sign | 0x7c00; // nearer to 2^16 than to the largest, 65504
  if (size < 2 ** -14) return sign | roundToEven(size * 2 ** 24); // below the normal ones they are 2^-24 apart
  const exponent = (bits[0]! >>> 23) & 255;
  const fraction = bits[0]! & 0x7fffff;
  // A fraction that rounds up to 1 counts into the exponent, as it should.
  return sign | (((exponent - 112) << 10) + roundToEven(fraction / 2 ** 13));
}

/** The bits of the bfloat16 nearest to a number. */
export function roundToBfloat16(number: number): number {
  float[0] = number;
  if (Number.isNaN(float[0])) return 0x7fc0;
  return roundToEven(bits[0]! / 2 ** 16);
}

function roundToEven(x: number): number {
  const below = Math.floor(x);
  const rest = x - below;
  return below + (rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? 1 : 0);
}
