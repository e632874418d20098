// Numbers that lie in an array by a step for each axis: what slices and transposes are before they are copied.

/** A part of an array, seen as a tensor. */
export interface Strided {
  /** Sizes of the axes. */
  readonly shape: readonly number[];
  /** How far apart neighbors along each axis lie. */
  readonly strides: readonly number[];
  /** Where the first number lies. */
  readonly offset: number;
}

/** How many numbers a shape holds. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((size, n) => size * n, 1);
}

/** Numbers of this shape row by row. */
export function rowMajor(shape: readonly number[]): Strided {
  const strides = shape.map((_, axis) => sizeOf(shape.slice(axis + 1)));
  return { shape, strides, offset: 0 };
}

/** Whether the numbers lie row by row from the first on. */
export function isRowMajor({ shape, strides, offset }: Strided): boolean {
  const { strides: expected } = rowMajor(shape);
  return offset === 0 && shape.every((size, axis) => size <= 1 || strides[axis] === expected[axis]);
}

/** Copies the numbers into an array of their own, row by row. */
export function gather(numbers: Float32Array, { shape, strides, offset }: Strided): Float32Array {
  const copy = new Float32Array(sizeOf(shape));
  if (copy.length === 0) return copy;
  const rowLength = shape.at(-1) ?? 1;
  const step = strides.at(-1) ?? 1;
  const outer = shape.slice(0, -1);
  const index = outer.map(() => 0);
  let start = offset;
  for (let at = 0; at < copy.length; at += rowLength) {
    for (let n = 0; n < rowLength; n++) copy[at + n] = numbers[start + n * step]!;
    // The next row: count up the index, innermost axis first.
    for (let axis = outer.length - 1; axis >= 0; axis--) {
      start += strides[axis]!;
      if (++index[axis]! < outer[axis]!) break;
      start -= outer[axis]! * strides[axis]!;
      index[axis] = 0;
    }
  }
  return copy;
}
