// Position methods with variables of their own.
import type { Initializer, PositionMethod, VariableShapes } from '@polyhead/core';
import { normalizeOptions, Weights } from '@polyhead/core/layer';
import type * as tf from '@tensorflow/tfjs-core';

export interface TrainedPosition extends PositionMethod {
  /** Copies by name, which the caller disposes. */
  getWeights(): Record<string, tf.Tensor>;
  /** @throws ShapeError for missing, unknown or misshapen weights; then nothing is set */
  setWeights(weights: Readonly<Record<string, tf.Tensor>>): void;
}

export interface PositionParts {
  /** First numbers of the variables. Default: Glorot uniform. */
  readonly initializer?: Initializer;
}

/** What a method computes with: the variables of its own, or those that a layer holds for it. */
export interface VariablesByName {
  get(name: string): tf.Variable;
  find(name: string): tf.Variable | undefined;
}

interface Described {
  readonly config: object;
  readonly seed?: number | undefined;
  readonly shapes: VariableShapes;
  readonly parts?: PositionParts;
}

/** A position method that owns the variables it computes with. */
export function trainedPosition(
  where: string,
  { config, shapes, parts = {}, seed = Math.floor(Math.random() * 2 ** 31) }: Described,
  formula: (variables: VariablesByName) => Omit<PositionMethod, 'config' | 'variables' | 'dispose'>,
): TrainedPosition {
  const { initializer } = normalizeOptions(where, 'parts', parts, ['initializer']);
  const weights = new Weights(where, shapes, { seed, ...(initializer && { initializer }) });
  return {
    ...formula(weights),
    config: Object.freeze({ ...config }),
    variables: weights.variables,
    getWeights: () => weights.read(),
    setWeights: (named) => weights.write(named),
    dispose: () => weights.dispose(),
  };
}
