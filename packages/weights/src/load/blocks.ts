// Matrices that stay in the blocks of a file.
import { QuantizedWeights } from '@polyhead/core';
import type { WeightSource, WeightStep } from '@polyhead/core/layer';
import type { Checkpoint } from '../checkpoint';

/** A matrix of a model that a checkpoint holds in blocks, and how it lies in the model. */
export interface BlockMatrix {
  /** Whether the layer multiplies with it as a table, [out, in]; else as a matrix, [in, out]. */
  readonly isTable: boolean;
  /** Reads it: the caller disposes it. */
  read(): Promise<QuantizedWeights>;
}

/** @returns undefined unless the tensor is in blocks of Q8_0, Q4_0 or Q4_1, and is a table or the transpose of a matrix */
export function blockMatrix(
  checkpoint: Checkpoint,
  tensor: string,
  steps: WeightSource['steps'] = [],
): BlockMatrix | undefined {
  const { type, shape } = checkpoint.tensors.get(tensor)!;
  const isTable = steps.length === 0;
  const isMatrix = steps.length === 1 && transposesMatrix(steps[0]!);
  if (type !== 'Q8_0' && type !== 'Q4_0' && type !== 'Q4_1') return undefined;
  if (shape.length !== 2 || !(isTable || isMatrix)) return undefined;
  const read = async () =>
    QuantizedWeights.fromBlocks(type, shape as [number, number], await checkpoint.readBytes(tensor));
  return { isTable, read };
}

/** Whether a step makes [out, in] of [in, out]. */
export const transposesMatrix = (step: WeightStep) => 'transpose' in step && `${step.transpose}` === '1,0';
