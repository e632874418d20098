// The state of an optimizer of TensorFlow.js by the names of a model's variables. Its own names are made of numbers that count
// variables as they are made, and are others in the next program.
import { ConfigError, type NamedVariable, UnsupportedError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import type { Checkpoint } from '../checkpoint';
import { FileError } from '../errors';
import type { TensorNumbers } from '../safetensors/write-safetensors';
import { optimizerKey, optimizerPrefix } from './optimizer-names';

const iterationsKey = 'optimizer iterations';
const orderKey = 'optimizer order';

/** What an optimizer remembers of one variable: "m" of Adam, for instance. */
interface Slot {
  /** The variable's whole name, and the slot's. */
  readonly name: string;
  readonly tensor: tf.Tensor;
}

/** What a file keeps of an optimizer. */
export interface OptimizerState {
  /** Its kind, how many steps it has done, and the order of its slots. */
  readonly metadata: { readonly [name: string]: string };
  /** Its slots. */
  readonly tensors: readonly (readonly [string, TensorNumbers])[];
}

/**
 * @throws UnsupportedError for an optimizer that TensorFlow.js cannot save
 * @throws ConfigError for one that trains variables of other models, too
 */
export async function optimizerState(
  where: string,
  optimizer: tf.Optimizer,
  variables: readonly NamedVariable[],
): Promise<OptimizerState> {
  const kind = optimizer.getClassName();
  const [iterations, ...slots] = await optimizer.getWeights().catch((error: unknown) => {
    throw new UnsupportedError(where, 'the optimizer must have a state that can be saved', [
      `${kind}: ${error}`,
    ]);
  });
  const steps = (await iterations!.tensor.data())[0]!;
  iterations!.tensor.dispose();
  const names = new Map(variables.map(({ name, variable }) => [variable.name, name]));
  const named = slots.map(({ name, tensor }): Slot => {
    const [, variable = '', slot = ''] = /^(.*)\/([^/]*)$/.exec(name) ?? [];
    const whole = names.get(variable);
    if (whole !== undefined) return { name: `${whole}/${slot}`, tensor };
    const rule = 'the optimizer must train variables of this model only, `minimize(f, false, itsVariables)`';
    throw new ConfigError(where, rule, { 'other variable': variable, slot });
  });
  const tensors = [];
  for (const { name, tensor } of named) {
    const numbers = (await tensor.data()) as Float32Array;
    tensors.push([optimizerPrefix + name, { shape: tensor.shape, numbers }] as const);
  }
  const order = named.map(({ name }) => name);
  const metadata = { [optimizerKey]: kind, [iterationsKey]: `${steps}`, [orderKey]: JSON.stringify(order) };
  return { metadata, tensors };
}

/**
 * Gives an optimizer the state that a file keeps. Its slots have the order that they had: TensorFlow.js finds them by it, in the
 * order of the variables that `minimize` is called with.
 *
 * @throws FileError where the file keeps none, another optimizer's, or that of other variables
 */
export async function restoreOptimizer(
  where: string,
  optimizer: tf.Optimizer,
  variables: readonly NamedVariable[],
  checkpoint: Checkpoint,
): Promise<void> {
  const { iterations, order } = judgedState(where, optimizer, checkpoint);
  const byName = new Map(variables.map(({ name, variable }) => [name, variable]));
  const slots: { name: string; numbers: Float32Array; shape: number[] }[] = [];
  for (const slot of order) {
    const [, name = '', kind = ''] = /^(.*)\/([^/]*)$/.exec(slot) ?? [];
    const variable = byName.get(name);
    const stored = checkpoint.tensors.get(optimizerPrefix + slot);
    if (!variable || `${stored?.shape}` !== `${variable.shape}`)
      throw new FileError(where, 'each slot of the optimizer must belong to a variable of its shape', {
        slot,
        shape: stored?.shape,
        variable,
      });
    const numbers = await checkpoint.read(optimizerPrefix + slot);
    slots.push({ name: `${variable.name}/${kind}`, numbers, shape: variable.shape });
  }
  const weights = [
    { name: 'iter', tensor: tf.scalar(iterations, 'int32') as tf.Tensor },
    ...slots.map(({ name, numbers, shape }) => ({ name, tensor: tf.tensor(numbers, shape) })),
  ];
  const before = await optimizer.getWeights();
  await optimizer.setWeights(weights);
  tf.dispose([...before, ...weights].map(({ tensor }) => tensor));
}

function judgedState(where: string, optimizer: tf.Optimizer, { metadata }: Checkpoint) {
  const kind = metadata.get(optimizerKey);
  if (kind !== optimizer.getClassName())
    throw new FileError(where, 'the file must keep the state of such an optimizer', {
      'in the file': kind ?? 'none',
      optimizer: optimizer.getClassName(),
    });
  const iterations = Number(metadata.get(iterationsKey));
  const order = parseNames(metadata.get(orderKey));
  if (!Number.isSafeInteger(iterations) || iterations < 0 || !order)
    throw new FileError(where, 'the state of an optimizer must have iterations and an order', { iterations });
  return { iterations, order };
}

function parseNames(text: unknown): readonly string[] | undefined {
  try {
    const names: unknown = JSON.parse(`${text}`);
    return Array.isArray(names) && names.every((name) => typeof name === 'string') ? names : undefined;
  } catch {
    return undefined;
  }
}
