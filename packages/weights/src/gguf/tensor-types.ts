// The types of GGUF's tensors, by the numbers that stand for them in files.
import { type NumberType, plainType } from '../files/number-types';
import { Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 } from './small-blocks';
import { Q2_K, Q3_K, Q4_K, Q5_K, Q6_K } from './super-blocks';

/** A name, and how the numbers are read. */
export type TensorType = readonly [string, NumberType];

/** Those that can be read. */
export function tensorTypes(): ReadonlyMap<number, TensorType> {
  return new Map([
    [0, ['F32', plainType('F32')]],
    [1, ['F16', plainType('F16')]],
    [2, ['Q4_0', Q4_0]],
    [3, ['Q4_1', Q4_1]],
    [6, ['Q5_0', Q5_0]],
    [7, ['Q5_1', Q5_1]],
    [8, ['Q8_0', Q8_0]],
    [10, ['Q2_K', Q2_K]],
    [11, ['Q3_K', Q3_K]],
    [12, ['Q4_K', Q4_K]],
    [13, ['Q5_K', Q5_K]],
    [14, ['Q6_K', Q6_K]],
    [24, ['I8', plainType('I8')]],
    [25, ['I16', plainType('I16')]],
    [26, ['I32', plainType('I32')]],
    [27, ['I64', plainType('I64')]],
    [28, ['F64', plainType('F64')]],
    [30, ['BF16', plainType('BF16')]],
  ]);
}
