// What every layer checks at its door.
import type * as tf from '@tensorflow/tfjs-core';
import { ConfigError, ShapeError } from '../contract/errors';
import type { LayerCall, LayerInputs } from '../contract/layer';
import { checkNumber } from './check-config';
import { checkMask } from './check-mask';
import { checkKernel, checkReturns } from './check-options';
import { checkTensor } from './check-tensor';
import { normalizeOptions } from './normalize-options';

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
  inputs: LayerInputs,
  widths: InputWidths,
  { cache }: LayerCall,
): { query: tf.Tensor3D; key?: tf.Tensor3D; value?: tf.Tensor3D; cross: boolean } {
  const asked = normalizeOptions(where, 'inputs', inputs, ['query', 'key', 'value']);
  const { key, value } = asked;
  const query = asked.query!;
  checkWidth(where, 'query', { ...asked, query }, ['[B, Sq, E]', widths.embedDim]);
  if (value && !key) throw new ShapeError(where, 'a value needs a key beside it', { query, value });
  if (cache?.sealed && !key) return { query, cross: true };
  const filled = { query, key: key ?? query, value: value ?? key ?? query };
  checkWidth(where, 'key', filled, ['[B, Skv, E of keys]', widths.keyEmbedDim]);
  checkWidth(where, 'value', filled, ['[B, Skv, E of values]', widths.valueEmbedDim]);
  if (filled.key.shape[0] !== query.shape[0]) {
    throw new ShapeError(where, 'query and key must have the same batch', filled);
  }
  if (filled.value.shape[0] !== filled.key.shape[0] || filled.value.shape[1] !== filled.key.shape[1]) {
    throw new ShapeError(where, 'value must have the batch and length of key', filled);
  }
  return { ...filled, cross: key !== undefined && key !== query };
}

const callOptions: readonly (keyof LayerCall)[] = [
  'mask',
  'bias',
  'cache',
  'positions',
  'queryStart',
  'lengths',
  'kernel',
  'training',
  'returns',
];

/**
 * What of a call was given.
 *
 * @throws ConfigError, ShapeError for what cannot be, before anything is computed
 */
export function checkLayerCall(where: string, call: LayerCall): LayerCall {
  const asked = normalizeOptions(where, 'call', call, callOptions) as LayerCall;
  const { mask, kernel, cache, training, returns, positions, lengths } = asked;
  if (mask !== undefined) checkMask(where, mask);
  if (kernel !== undefined) checkKernel(where, kernel);
  if (cache !== undefined && typeof cache.stage !== 'function') {
    throw new ConfigError(where, 'cache must be a KeyValueCache', { cache });
  }
  if (training !== undefined) {
    const { seed } = normalizeOptions(where, 'training', training, ['seed']);
    checkNumber(where, 'training.seed', seed!, [Number.isInteger, 'a whole number']);
  }
  for (const [name, list] of Object.entries({ positions, lengths })) {
    if (list !== undefined && !Array.isArray(list))
      throw new ConfigError(where, `${name} must be a list`, { [name]: list });
  }
  if (returns !== undefined) checkReturns(where, returns, ['weights', 'logSumExp', 'headOutputs']);
  return asked;
}

function checkWidth(
  where: string,
  name: keyof LayerInputs,
  inputs: LayerInputs,
  [shape, width]: readonly [string, number],
): void {
  const tensor = inputs[name];
  checkTensor(where, name, tensor, [shape, { ...inputs }]);
  if (tensor.shape[2] === width) return;
  throw new ShapeError(where, `${name} must be ${width} wide: ${shape}`, { ...inputs });
}
