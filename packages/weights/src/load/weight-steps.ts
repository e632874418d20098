// The steps of a weight table, on shapes alone and on numbers.
import type { WeightStep } from '@polyhead/core/layer';
import { gather, isRowMajor, rowMajor, type Strided, sizeOf } from './strided';

interface Numbers extends Strided {
  readonly numbers: Float32Array;
}

/**
 * The shape that is left once all steps are done, or in words why they cannot be.
 *
 * @param shape of the tensor in the checkpoint
 */
export function shapeAfter(
  steps: readonly WeightStep[],
  shape: readonly number[],
): readonly number[] | string {
  let current: readonly number[] = shape;
  for (const step of steps) {
    const next = nextShape(step, current);
    if (typeof next === 'string') return `${JSON.stringify(step)} on [${current.join(', ')}]: ${next}`;
    current = next;
  }
  return current;
}

function nextShape(step: WeightStep, shape: readonly number[]): readonly number[] | string {
  if ('reshape' in step) return reshaped(step.reshape, shape) ?? 'another number of numbers';
  if ('transpose' in step) {
    const isOrder = `${[...step.transpose].sort((a, b) => a - b)}` === `${shape.map((_, axis) => axis)}`;
    return isOrder ? step.transpose.map((axis) => shape[axis]!) : 'it must name each axis once';
  }
  if ('slice' in step) {
    const { axis, start, size } = step.slice;
    const isWithin =
      axis in shape &&
      [start, size].every((n) => Number.isInteger(n) && n >= 0) &&
      start + size <= shape[axis]!;
    return isWithin ? shape.map((length, n) => (n === axis ? size : length)) : 'it must lie within the axis';
  }
  return 'affine' in step ? shape : 'a step must be a reshape, transpose, slice or affine';
}

/** The sizes with -1 filled in; undefined where they do not fit. */
function reshaped(sizes: readonly number[], shape: readonly number[]): readonly number[] | undefined {
  const total = sizeOf(shape);
  const known = sizeOf(sizes.filter((size) => size !== -1));
  const filled = sizes.map((size) => (size === -1 ? total / known : size));
  const isFine = filled.every((size) => Number.isInteger(size) && size >= 0) && sizeOf(filled) === total;
  return isFine ? filled : undefined;
}

/**
 * The numbers of a variable out of those of a tensor.
 *
 * @param steps which `shapeAfter` has judged
 * @returns the array itself where nothing is to be done
 */
export function applySteps(
  steps: readonly WeightStep[],
  numbers: Float32Array,
  shape: readonly number[],
): Float32Array {
  let current: Numbers = { numbers, ...rowMajor(shape) };
  for (const step of steps) current = apply(step, current);
  return inRows(current).numbers;
}

function apply(step: WeightStep, current: Numbers): Numbers {
  if ('reshape' in step) {
    const { numbers, shape } = inRows(current);
    return { numbers, ...rowMajor(reshaped(step.reshape, shape)!) };
  }
  const { shape, strides, offset } = current;
  if ('transpose' in step) {
    const { transpose: order } = step;
    return {
      ...current,
      shape: order.map((axis) => shape[axis]!),
      strides: order.map((axis) => strides[axis]!),
    };
  }
  if ('slice' in step) {
    const { axis, start } = step.slice;
    return {
      ...current,
      shape: nextShape(step, shape) as readonly number[],
      offset: offset + start * strides[axis]!,
    };
  }
  const { scale = 1, offset: added = 0 } = step.affine;
  const rows = inRows(current);
  return { ...rows, numbers: rows.numbers.map((x) => scale * x + added) };
}

/** The same tensor with its numbers side by side. */
function inRows(current: Numbers): Numbers {
  const isWhole = isRowMajor(current) && current.numbers.length === sizeOf(current.shape);
  if (isWhole) return current;
  return { numbers: gather(current.numbers, current), ...rowMajor(current.shape) };
}
