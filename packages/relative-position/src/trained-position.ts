// Position methods with variables of their own.
import { given, type Initialiser, type PositionMethod, type VariableShapes, Weights } from '@polyhead/core';
import type * as tf from '@tensorflow/tfjs-core';

export interface TrainedPosition extends PositionMethod {
  /** Copies by name, which the caller disposes. */
  getWeights(): Record<string, tf.Tensor>;
  /** @throws ShapeError for missing, unknown or misshapen weights; then nothing is set */
  setWeights(weights: Readonly<Record<string, tf.Tensor>>): void;
}

export interface PositionParts {
  /** First numbers of the variables. Default: Glorot uniform. */
  readonly initialiser?: Initialiser;
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
  const { initialiser } = given(where, 'parts', parts, ['initialiser']);
  const weights = new Weights(where, shapes, { seed, ...(initialiser && { initialiser }) });
  return {
    ...formula(weights),
    config: Object.freeze({ ...config }),
    variables: weights.variables,
    getWeights: () => weights.read(),
    setWeights: (named) => weights.write(named),
    dispose: () => weights.dispose(),
  };
}
