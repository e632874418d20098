// What every layer checks at its door.
import * as tf from '@tensorflow/tfjs-core';
import { ConfigError, ShapeError } from '../contract/errors';
import type { LayerCall, LayerInputs, LayerReturn } from '../contract/layer';
import { checkFlag, checkNumber } from './check-config';
import { checkKernel, checkReturns } from './check-options';
import { checkTensor } from './check-tensor';
import { normalizeOptions, optionsOfCall } from './normalize-options';

/** Widths of a layer's inputs. */
export interface InputWidths {
  /** E, of queries. */
  readonly embedDim: number;
  /** Of keys. */
  readonly keyEmbedDim: number;
  /** Of values. */
  readonly valueEmbedDim: number;
}

/** The inputs of a layer, checked: key and value are absent where the rows of a sealed cache serve. */
export interface CheckedInputs {
  readonly query: tf.Tensor3D; // [B, Sq, E]
  readonly key?: tf.Tensor3D; // [B, Skv, E of keys]
  readonly value?: tf.Tensor3D; // [B, Skv, E of values]
  readonly cross: boolean; // keys are other tokens than the queries
}

/**
 * Query, key and value of a call: what is left out is filled in.
 *
 * @throws ShapeError, ConfigError, naming the argument
 */
export function checkLayerInputs(
  where: string,
  inputs: LayerInputs,
  widths: InputWidths,
  { cache }: LayerCall,
): CheckedInputs {
  if ((inputs as unknown) instanceof tf.Tensor)
    throw new ShapeError(where, 'inputs are tensors by name: give { query: tensor }', { inputs });
  const known = optionsOfCall(where, 'inputs', inputs, inputNames) as LayerInputs;
  const { query, key, value, cross } = known;
  checkFlag(where, 'inputs.cross', cross);
  checkWidth(where, 'query', known, ['[B, Sq, E]', widths.embedDim]);
  if (value && !key) throw new ShapeError(where, 'a value needs a key beside it', { query, value });
  if (cache?.sealed && !key) return { query: query as tf.Tensor3D, cross: cross ?? !cache.source };
  if (cross && !key) throw new ConfigError(where, 'cross: true needs a key, or a sealed cache', { cross });
  const filled = { query, key: key ?? query, value: value ?? key ?? query };
  checkWidth(where, 'key', filled, ['[B, Skv, E of keys]', widths.keyEmbedDim]);
  checkWidth(where, 'value', filled, ['[B, Skv, E of values]', widths.valueEmbedDim]);
  if (filled.key.shape[0] !== query.shape[0]) {
    throw new ShapeError(where, 'query and key must have the same batch', filled);
  }
  if (filled.value.shape[0] !== filled.key.shape[0] || filled.value.shape[1] !== filled.key.shape[1]) {
    throw new ShapeError(where, 'value must have the batch and length of key', filled);
  }
  const isCross = cross ?? key !== undefined;
  if (!isCross && filled.key.shape[1] !== query.shape[1])
    throw new ShapeError(where, "keys with cross: false are the queries' own tokens, as many", filled);
  const [k, v] = [filled.key as tf.Tensor3D, filled.value as tf.Tensor3D];
  return { query: query as tf.Tensor3D, key: k, value: v, cross: isCross };
}

const inputNames: readonly (keyof LayerInputs)[] = ['query', 'key', 'value', 'cross'];

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
 * The options of a call, without those that are null or undefined.
 *
 * @throws ConfigError, ShapeError for what cannot be, before anything is computed
 */
export function checkLayerCall<Returns extends LayerReturn>(
  where: string,
  call: LayerCall<Returns>,
): LayerCall<Returns> {
  const known = optionsOfCall(where, 'call', call, callOptions) as LayerCall<Returns>;
  const { kernel, cache, training, returns, positions, lengths } = known;
  if (kernel !== undefined) checkKernel(where, kernel);
  if (cache !== undefined && typeof cache.stage !== 'function') {
    throw new ConfigError(where, 'cache must be a KeyValueCache', { cache });
  }
  if (training !== undefined) {
    const { seed } = normalizeOptions(where, 'training', training, ['seed']);
    checkNumber(where, 'training.seed', seed!, [Number.isInteger, 'a whole number']);
  }
  checkList(where, 'positions', positions);
  checkList(where, 'lengths', lengths);
  if (returns !== undefined) checkReturns(where, returns, ['weights', 'logSumExp', 'headOutputs']);
  return known;
}

function checkList(where: string, name: string, list: unknown): void {
  if (list === undefined || Array.isArray(list)) return;
  throw new ConfigError(where, `${name} must be a list`, { [name]: list });
}

function checkWidth(
  where: string,
  name: 'query' | 'key' | 'value',
  inputs: LayerInputs,
  [shape, width]: readonly [string, number],
): void {
  const tensor = inputs[name];
  checkTensor(where, name, tensor, [shape, inputs]);
  if (tensor.shape[2] === width) return;
  throw new ShapeError(where, `${name} must be ${width} wide: ${shape}`, { ...inputs });
}
