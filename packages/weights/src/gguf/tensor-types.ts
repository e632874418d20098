// The types of GGUF's tensors, by the numbers that stand for them in files.
import { type NumberType, plainTypes } from '../files/number-types';
import { Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 } from './small-blocks';
import { Q2_K, Q3_K, Q4_K, Q5_K, Q6_K } from './super-blocks';

interface TensorType {
  readonly name: string;
  readonly numberType: NumberType;
}

const named = (name: string, numberType: NumberType): TensorType => ({ name, numberType });

/** Those that can be read. */
export const tensorTypes: ReadonlyMap<number, TensorType> = new Map([
  [0, named('F32', plainTypes.F32)],
  [1, named('F16', plainTypes.F16)],
  [2, named('Q4_0', Q4_0)],
  [3, named('Q4_1', Q4_1)],
  [6, named('Q5_0', Q5_0)],
  [7, named('Q5_1', Q5_1)],
  [8, named('Q8_0', Q8_0)],
  [10, named('Q2_K', Q2_K)],
  [11, named('Q3_K', Q3_K)],
  [12, named('Q4_K', Q4_K)],
  [13, named('Q5_K', Q5_K)],
  [14, named('Q6_K', Q6_K)],
  [24, named('I8', plainTypes.I8)],
  [25, named('I16', plainTypes.I16)],
  [26, named('I32', plainTypes.I32)],
  [27, named('I64', plainTypes.I64)],
  [28, named('F64', plainTypes.F64)],
  [30, named('BF16', plainTypes.BF16)],
]);
