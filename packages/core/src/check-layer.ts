// What every layer checks at its door.
import type * as tf from '@tensorflow/tfjs-core';
import { checkTensor } from './check-inputs';
import { ConfigError, ShapeError } from './errors';
import type { LayerCall, LayerInputs } from './layer';

/** Widths of a layer's inputs. */
export interface InputWidths {
  readonly embedDim: number;
  readonly keyEmbedDim: number;
  readonly valueEmbedDim: number;
}

/**
 * Query, key and value of a call: what is left out is filled in.
 *
 * @returns key and value are absent where the rows of a sealed cache serve
 * @throws ShapeError, naming the argument
 */
export function checkLayerInputs(
  where: string,
  { query, key, value }: LayerInputs,
  widths: InputWidths,
  { cache }: LayerCall,
): { query: tf.Tensor3D; key?: tf.Tensor3D; value?: tf.Tensor3D; cross: boolean } {
  checkWidth(where, 'query', query, ['[B, Sq, E]', widths.embedDim]);
  if (value && !key) throw new ShapeError(where, 'a value needs a key beside it', { query, value });
  if (cache?.sealed && !key) return { query, cross: true };
  const filled = { query, key: key ?? query, value: value ?? key ?? query };
  checkWidth(where, 'key', filled.key, ['[B, Skv, E of keys]', widths.keyEmbedDim]);
  checkWidth(where, 'value', filled.value, ['[B, Skv, E of values]', widths.valueEmbedDim]);
  if (filled.key.shape[0] !== query.shape[0]) {
    throw new ShapeError(where, 'query and key must have the same batch', filled);
  }
  if (filled.value.shape[0] !== filled.key.shape[0] || filled.value.shape[1] !== filled.key.shape[1]) {
    throw new ShapeError(where, 'value must have the batch and length of key', filled);
  }
  return { ...filled, cross: key !== undefined && key !== query };
}

/** @throws ConfigError for a training seed or a wish that cannot be */
export function checkLayerCall(where: string, { training, returns = [] }: LayerCall): void {
  if (training && !Number.isInteger(training.seed)) {
    throw new ConfigError(where, 'training.seed must be a whole number', { 'training.seed': training.seed });
  }
  const known = ['weights', 'logSumExp', 'headOutputs'];
  if (returns.some((name) => !known.includes(name))) {
    throw new ConfigError(where, `returns may name ${known.join(', ')}`, { returns });
  }
}

function checkWidth(
  where: string,
  name: string,
  tensor: tf.Tensor3D,
  [shape, width]: readonly [string, number],
): void {
  checkTensor(where, name, tensor, shape);
  if (tensor.shape[2] === width) return;
  throw new ShapeError(where, `${name} must be ${width} wide: ${shape}`, { [name]: tensor });
}
