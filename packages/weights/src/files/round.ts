// float32 to 16 bits, to the nearest, and where two are equally near to the even one, as IEEE 754 says.

/** The bits of the float16 numbers nearest to these. */
export function toFloat16(numbers: Float32Array): Uint16Array {
  const bits = bitsOf(numbers);
  return Uint16Array.from(numbers, (number, n) => {
    const sign = (bits[n]! >>> 16) & 0x8000;
    const size = Math.abs(number);
    if (Number.isNaN(size)) return sign | 0x7e00;
    if (size >= 65520) return sign | 0x7c00; // nearer to 2^16 than to the largest, 65504
    if (size < 2 ** -14) return sign | toEven(size * 2 ** 24); // below the normal ones they are 2^-24 apart
    const exponent = (bits[n]! >>> 23) & 255;
    const fraction = bits[n]! & 0x7fffff;
    // A fraction that rounds up to 1 counts into the exponent, as it should.
    return sign | (((exponent - 112) << 10) + toEven(fraction / 2 ** 13));
  });
}

/** The bits of the bfloat16 numbers nearest to these: the upper half of float32. */
export function toBfloat16(numbers: Float32Array): Uint16Array {
  const bits = bitsOf(numbers);
  return Uint16Array.from(numbers, (number, n) =>
    Number.isNaN(number) ? 0x7fc0 : toEven(bits[n]! / 2 ** 16),
  );
}

function bitsOf({ buffer, byteOffset, length }: Float32Array): Uint32Array {
  return new Uint32Array(buffer, byteOffset, length);
}

function toEven(x: number): number {
  const below = Math.floor(x);
  const rest = x - below;
  return below + (rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? 1 : 0);
}
