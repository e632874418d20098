// The matrices of a layer or a model in 8 bits a number.
import type * as tf from '@tensorflow/tfjs-core';
import { ConfigError } from '../contract/errors';
import type { NamedVariable } from '../contract/layer';
import { storeMatrix } from '../layer/weights';
import { QuantizedWeights, type QuantizeOptions } from './quantized-weights';

/** What became of a layer's matrices. */
export interface QuantizeReport {
  /** Whole names of the matrices that are stored in fewer bits now, and no variables any more. */
  readonly matrices: readonly string[];
  /** Bytes that they take. */
  readonly bytes: number;
}

/**
 * Keeps the matrices that a layer or a model multiplies with, tables of embeddings included, in 8 bits a number, with a scale
 * for each group of a row: a quarter of the memory, and of what a token has to read. What is stored so is not trained, set or
 * saved; `getWeights` of a layer gives what it stands for.
 *
 * @param layer attention, a layer or a model, with all its parts
 * @throws ConfigError for another format, or groups that are no multiple of 32
 * @example
 * quantizeWeights(model, 'int8');
 * setDefaultProducts(denseProducts());
 */
export function quantizeWeights(
  layer: { readonly variables: readonly NamedVariable[] },
  format: 'int8',
  options: QuantizeOptions = {},
): QuantizeReport {
  if (format !== 'int8') throw new ConfigError('quantizeWeights', "format must be 'int8'", { format });
  const matrices: string[] = [];
  let bytes = 0;
  for (const { name, variable } of layer.variables) {
    const isStored = storeMatrix(variable as tf.Variable, {}, (table) => {
      const weights = QuantizedWeights.fromFloats(table(), options);
      bytes += weights.byteSize;
      return weights;
    });
    if (isStored) matrices.push(name);
  }
  return { matrices, bytes };
}
