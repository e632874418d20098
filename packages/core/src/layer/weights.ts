// The variables of a layer: named, initialized from a seed, read, set and disposed together.
import * as tf from '@tensorflow/tfjs-core';
import { ShapeError } from '../contract/errors';
import type { NamedVariable } from '../contract/layer';
import { seedOf } from './seed';

/** Shapes of a layer's variables by name, known without allocating any. */
export type VariableShapes = Readonly<Record<string, readonly number[]>>;

/** First numbers of a kernel, a [in, out] matrix, or of several: [n, in, out]. */
export type Initializer = (shape: readonly number[], seed: number) => tf.Tensor;

/** Uniform within ±sqrt(6 / (in + out)) (Glorot and Bengio 2010). */
export const glorotUniform: Initializer = (shape, seed) => {
  const limit = Math.sqrt(6 / (shape.at(-2)! + shape.at(-1)!));
  return tf.randomUniform([...shape], -limit, limit, 'float32', seed);
};

/** How many numbers the variables hold. */
export function countParameters(shapes: VariableShapes): number {
  return Object.values(shapes).reduce((total, shape) => total + shape.reduce((size, n) => size * n, 1), 0);
}

/** The variables of one layer. Kernels start from the initializer, gains at 1, all other vectors at 0. */
export class Weights {
  readonly variables: readonly NamedVariable[];

  constructor(
    private readonly layer: string,
    shapes: VariableShapes,
    { seed, initializer = glorotUniform }: { readonly seed: number; readonly initializer?: Initializer },
  ) {
    const start = (name: string, shape: readonly number[]) => {
      const vector = name.endsWith('/gain') ? tf.ones([...shape]) : tf.zeros([...shape]);
      const first = shape.length === 1 ? vector : initializer(shape, seedOf(seed, name));
      checkWeight(this.layer, name, first, shape);
      return { name, first };
    };
    const variables: NamedVariable[] = [];
    tf.tidy(() => {
      const starts = Object.entries(shapes).map(([name, shape]) => start(name, shape));
      variables.push(...starts.map(({ name, first }) => ({ name, variable: tf.variable(first) })));
    });
    this.variables = variables;
  }

  /** @throws ShapeError once disposed */
  get(name: string): tf.Variable {
    const variable = this.find(name);
    if (!variable) throw new ShapeError(this.layer, `there is no variable "${name}"`, { names: this.names });
    return variable;
  }

  /** @throws ShapeError once disposed */
  find(name: string): tf.Variable | undefined {
    const variable = this.variables.find((named) => named.name === name)?.variable;
    if (variable?.isDisposed)
      throw new ShapeError(this.layer, 'the layer must not be disposed', { [name]: variable });
    return variable;
  }

  /** Copies, which the caller disposes. */
  read(): Record<string, tf.Tensor> {
    return Object.fromEntries(this.names.map((name) => [name, tf.clone(this.get(name))]));
  }

  /** @throws ShapeError for missing, unknown or misshapen weights; then nothing is set */
  write(weights: Readonly<Record<string, tf.Tensor>>): void {
    if (typeof weights !== 'object' || weights === null) {
      throw new ShapeError(`${this.layer}.setWeights`, 'weights must be tensors by name', { weights });
    }
    const [missing, unknown] = [this.names, Object.keys(weights)].map((names, i) =>
      names.filter((name) => !(i === 0 ? Object.keys(weights) : this.names).includes(name)),
    );
    if (missing!.length + unknown!.length > 0) {
      throw new ShapeError(`${this.layer}.setWeights`, 'weights must have the names of the variables', {
        names: this.names,
        missing,
        unknown,
      });
    }
    for (const name of this.names)
      checkWeight(`${this.layer}.setWeights`, name, weights[name]!, this.get(name).shape);
    tf.tidy(() => {
      // Copies first: the weights may be variables of this very layer.
      const copies = this.names.map((name) => tf.clone(weights[name]!));
      this.names.forEach((name, n) => {
        this.get(name).assign(copies[n]!);
      });
    });
  }

  dispose(): void {
    for (const { variable } of this.variables) if (!variable.isDisposed) variable.dispose();
  }

  private get names(): readonly string[] {
    return this.variables.map(({ name }) => name);
  }
}

function checkWeight(where: string, name: string, tensor: tf.Tensor, shape: readonly number[]): void {
  const facts = { [name]: tensor, 'shape needed': shape };
  if (!(tensor instanceof tf.Tensor)) throw new ShapeError(where, `${name} must be a tensor`, facts);
  if (tensor.isDisposed) throw new ShapeError(where, `${name} must not be disposed`, facts);
  if (tensor.dtype !== 'float32') throw new ShapeError(where, `${name} must be float32`, facts);
  if (`${tensor.shape}` !== `${shape}`)
    throw new ShapeError(where, `${name} must have its variable's shape`, facts);
}
