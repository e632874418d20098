// The variables of a model, and what an optimizer remembers of them, as the bytes of a file.
import { ConfigError } from '@polyhead/core';
import type * as tf from '@tensorflow/tfjs-core';
import { checkVariables, type NamedVariables } from '../load/named-variables';
import { type TensorNumbers, type WriteOptions, writeSafetensors } from '../safetensors/write-safetensors';
import { optimizerPrefix } from './optimizer-names';
import { optimizerState } from './optimizer-state';

/** What is saved, and how. */
export interface SaveOptions extends WriteOptions {
  /** Saves its state, too, so that training goes on as if it had not stopped. Default: none. */
  readonly optimizer?: tf.Optimizer | undefined;
}

const where = 'saveWeights';

/**
 * A safetensors file of a model's variables by their names, which `loadWeights` reads without a table.
 *
 * @throws ShapeError for variables without names of their own, or disposed
 * @throws ConfigError for an optimizer with another model's variables, or whose state would be rounded
 * @throws UnsupportedError for an optimizer that TensorFlow.js cannot save
 */
export async function saveWeights(model: NamedVariables, options: SaveOptions = {}): Promise<Uint8Array> {
  const { optimizer, metadata, type } = options;
  const { variables } = model;
  checkVariables(where, variables);
  if (optimizer && type !== undefined && type !== 'F32')
    throw new ConfigError(
      where,
      'type must be F32 with an optimizer: what goes on from rounded numbers is not the same',
      {
        type,
      },
    );
  const taken = variables.filter(({ name }) => name.startsWith(optimizerPrefix)).map(({ name }) => name);
  if (taken.length > 0)
    throw new ConfigError(where, `no variable may be called ${optimizerPrefix}…`, { taken });
  const tensors: [string, TensorNumbers][] = [];
  for (const { name, variable } of variables) {
    const numbers = (await variable.data()) as Float32Array;
    tensors.push([name, { shape: variable.shape, numbers }]);
  }
  const state = optimizer && (await optimizerState(where, optimizer, variables));
  return writeSafetensors([...tensors, ...(state?.tensors ?? [])], {
    type,
    metadata: { ...metadata, ...state?.metadata },
  });
}
