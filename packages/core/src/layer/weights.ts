// The variables of a layer: named, initialized from a seed, read, set and disposed together.
import * as tf from '@tensorflow/tfjs-core';
import { cleanTidy } from '../backend/clean-tidy';
import { ConfigError, ShapeError } from '../contract/errors';
import type { NamedVariable } from '../contract/layer';
import type { StoredWeights } from '../contract/products';
import { seedOf } from './seed';

/** Shapes of a layer's variables by name, known without allocating any. */
export type VariableShapes = Readonly<Record<string, readonly number[]>>;

/**
 * First numbers of a variable: a matrix [in, out], several [n, in, out], or a vector [n].
 *
 * @param seed a hash of the layer's seed and the name
 * @param name the variable's whole name
 * @returns undefined: the variable starts as it would without the initializer
 */
export type Initializer = (shape: readonly number[], seed: number, name: string) => tf.Tensor | undefined;

/** Matrices uniform within ±sqrt(6 / (in + out)) (Glorot and Bengio 2010); vectors are left as they are. */
export const glorotUniform: Initializer = (shape, seed) => {
  if (shape.length < 2) return undefined;
  const limit = Math.sqrt(6 / (shape.at(-2)! + shape.at(-1)!));
  return tf.randomUniform([...shape], -limit, limit, 'float32', seed);
};

/**
 * How many numbers the variables hold.
 *
 * @throws ConfigError for what is no object
 */
export function countParameters(shapes: VariableShapes): number {
  if (typeof shapes !== 'object' || shapes === null)
    throw new ConfigError('countParameters', 'shapes must be lists of sizes by name', { shapes });
  return Object.values(shapes).reduce((total, shape) => total + shape.reduce((size, n) => size * n, 1), 0);
}

/** How the variables of a layer start. */
export interface WeightOptions {
  /** Of the layer: each variable draws from a hash of it and its whole name. */
  readonly seed: number;
  /** Stands before the name of each. Default: nothing. */
  readonly name?: string | undefined;
  /** Asked for each variable. Default: each has its own start. */
  readonly initializer?: Initializer | undefined;
  /** The variables' own starts, by short name. Default: matrices `glorotUniform`, gains 1, other vectors 0. */
  readonly starts?: { readonly [name: string]: Initializer } | undefined;
  /** Matrices that a layer multiplies with as tables, [out, in], by `matrix`. Default: none. */
  readonly tables?: readonly string[] | undefined;
}

/** Whose a variable is: who stores it otherwise. */
const owners = new WeakMap<tf.Variable, { readonly weights: Weights; readonly name: string }>();

/**
 * Keeps the numbers of a variable in another form from now on, in place of floats: the variable is disposed.
 *
 * @param lies `isTable`: only where the layer multiplies with it as a table, [out, in], or only where as a matrix [in, out].
 *   Default: either
 * @param store gives them, from a table [out, in]
 * @returns whether it is a matrix that a layer multiplies with, and was stored
 */
export function storeMatrix(
  variable: tf.Variable,
  { isTable }: { readonly isTable?: boolean | undefined },
  store: (table: () => tf.Tensor2D) => StoredWeights,
): boolean {
  const owner = owners.get(variable);
  if (!owner || variable.isDisposed) return false;
  const { weights, name } = owner;
  const lies = weights.liesAsTable(name);
  if (lies === undefined || (isTable !== undefined && isTable !== lies)) return false;
  weights.store(name, store);
  return true;
}

/** A matrix in another form than floats, for a layer that is to be made. */
export interface StoredMatrix {
  /** [out, in] */
  readonly weights: StoredWeights;
  /** Whether the layer has it as a table, [out, in]; else as a matrix, [in, out]. */
  readonly isTable: boolean;
}

/** What layers start with that are being made. */
let starting: Map<string, StoredMatrix> | undefined;

/**
 * Makes a layer or a model some of whose matrices are in another form than floats from the start: as after `storeMatrix`, but the
 * floats are never there.
 *
 * @param matrices by the whole names of variables. A layer takes those that fit, by their shapes and as they lie: they are its
 *   own then, and leave the map
 */
export function withStoredMatrices<T>(matrices: Map<string, StoredMatrix>, make: () => T): T {
  const outer = starting;
  starting = matrices;
  try {
    return make();
  } finally {
    starting = outer;
  }
}

/** The variables of one layer, by their short names. */
export class Weights {
  private readonly names: readonly string[];
  private readonly wholeNames: readonly string[];
  private readonly tables: readonly string[];
  /** Matrices in another form than floats. */
  private readonly stored = new Map<string, StoredWeights>();
  private readonly byName: ReadonlyMap<string, tf.Variable>;

  constructor(
    private readonly layer: string,
    shapes: VariableShapes,
    { seed, name: prefix, initializer, starts = {}, tables = [] }: WeightOptions,
  ) {
    checkCounts(layer, shapes);
    this.tables = tables;
    this.names = Object.keys(shapes);
    const wholeName = (name: string) => (prefix ? `${prefix}/${name}` : name);
    const start = (name: string, shape: readonly number[]) => {
      const whole = wholeName(name);
      const draw = (by: Initializer | undefined) => by?.(shape, seedOf(seed, whole), whole);
      const first =
        draw(initializer) ?? draw(starts[name]) ?? draw(glorotUniform) ?? vectorStart(name, shape);
      checkWeight(this.layer, name, first, shape);
      return [name, first] as const;
    };
    this.wholeNames = this.names.map(wholeName);
    const made = new Map<string, tf.Variable>();
    cleanTidy(() => {
      const first = Object.entries(shapes)
        .filter(([name, shape]) => !this.takeStored(name, wholeName(name), shape))
        .map(([name, shape]) => start(name, shape));
      for (const [name, numbers] of first) made.set(name, tf.variable(numbers));
    });
    this.byName = made;
    for (const [name, variable] of made) owners.set(variable, { weights: this, name });
  }

  /** By their whole names; without what is stored in another form. */
  get variables(): readonly NamedVariable[] {
    return this.names.flatMap((short, n) =>
      this.stored.has(short) ? [] : [{ name: this.wholeNames[n]!, variable: this.byName.get(short)! }],
    );
  }

  /**
   * A matrix that a layer multiplies with, as `project` takes it: its variable, or what is stored in its place.
   *
   * @throws ShapeError where there is none, and once disposed
   */
  matrix(name: string): tf.Variable | StoredWeights {
    return this.stored.get(name) ?? this.get(name);
  }

  /** Whether a matrix that the layer multiplies with is a table, [out, in]; undefined: it is no such matrix. */
  liesAsTable(name: string): boolean | undefined {
    return this.lies(name, this.get(name).shape);
  }

  /** Of `storeMatrix`. */
  store(name: string, store: (table: () => tf.Tensor2D) => StoredWeights): void {
    const variable = this.get(name);
    const table = () => (this.tables.includes(name) ? tf.clone(variable) : tf.transpose(variable));
    tf.tidy(() => void this.stored.set(name, store(table as () => tf.Tensor2D)));
    variable.dispose();
  }

  /** @throws ShapeError where there is none, and once disposed */
  get(name: string): tf.Variable {
    const variable = this.find(name);
    if (!variable) throw new ShapeError(this.layer, `there is no variable "${name}"`, { names: this.names });
    return variable;
  }

  /** @throws ShapeError once disposed */
  find(name: string): tf.Variable | undefined {
    const variable = this.byName.get(name);
    if (this.stored.has(name))
      throw new ShapeError(this.layer, `${name} must be floats here: it is stored in another form`, {
        format: this.stored.get(name)!.format,
      });
    if (variable?.isDisposed)
      throw new ShapeError(this.layer, `${this.layer} must not be disposed`, { [name]: variable });
    return variable;
  }

  /** The variable, or the floats of what is stored in its place: a new tensor, which belongs to the tidy of the call. */
  floats(name: string): tf.Tensor | undefined {
    return this.stored.has(name) ? this.copyOf(name) : this.find(name);
  }

  /** Copies, which the caller disposes. */
  read(): Record<string, tf.Tensor> {
    return tf.tidy(() => Object.fromEntries(this.names.map((name) => [name, this.copyOf(name)])));
  }

  /** @throws ShapeError for missing, unknown or misshapen weights; then nothing is set */
  write(weights: Readonly<Record<string, tf.Tensor>>): void {
    const where = `${this.layer}.setWeights`;
    const { names } = this;
    if (this.stored.size > 0)
      throw new ShapeError(where, 'weights must be floats to be set', { stored: [...this.stored.keys()] });
    if (typeof weights !== 'object' || weights === null)
      throw new ShapeError(where, 'weights must be tensors by name', { weights });
    const missing = names.filter((name) => !Object.hasOwn(weights, name));
    const unknown = Object.keys(weights).filter((name) => !names.includes(name));
    if (missing.length + unknown.length > 0) {
      const rule = 'weights must have the names of the variables';
      throw new ShapeError(where, rule, { names, missing, unknown });
    }
    for (const name of names) checkWeight(where, name, weights[name]!, this.get(name).shape);
    tf.tidy(() => {
      // Copies first: the weights may be variables of this very layer.
      const copies = names.map((name) => tf.clone(weights[name]!));
      names.forEach((name, n) => {
        this.get(name).assign(copies[n]!);
      });
    });
  }

  /** Disposes all; twice is once. */
  dispose(): void {
    for (const variable of this.byName.values()) if (!variable.isDisposed) variable.dispose();
    for (const weights of this.stored.values()) weights.dispose();
  }

  private copyOf(name: string): tf.Tensor {
    const stored = this.stored.get(name);
    if (!stored) return tf.clone(this.get(name));
    return this.tables.includes(name) ? stored.toFloats() : tf.transpose(stored.toFloats());
  }

  private lies(name: string, shape: readonly number[]): boolean | undefined {
    if (shape.length !== 2) return undefined;
    if (this.tables.includes(name)) return true;
    return /(^|\/)kernel$/.test(name) ? false : undefined;
  }

  /** Takes a matrix of `withStoredMatrices`, if there is one. */
  private takeStored(name: string, wholeName: string, shape: readonly number[]): boolean {
    const { weights, isTable } = starting?.get(wholeName) ?? {};
    const isOurs = weights !== undefined && isTable === this.lies(name, shape);
    if (!isOurs || `${weights.shape}` !== `${isTable ? shape : [...shape].reverse()}`) return false;
    starting!.delete(wholeName);
    this.stored.set(name, weights);
    return true;
  }
}

/** @throws ConfigError for a variable that no backend could hold */
function checkCounts(layer: string, shapes: VariableShapes): void {
  for (const [name, shape] of Object.entries(shapes)) {
    const count = shape.reduce((size, n) => size * n, 1);
    if (count < 2 ** 31) continue;
    throw new ConfigError(layer, 'a variable must have less than 2^31 numbers', { [name]: shape });
  }
}

function vectorStart(name: string, shape: readonly number[]): tf.Tensor {
  return name.endsWith('/gain') ? tf.ones([...shape]) : tf.zeros([...shape]);
}

function checkWeight(where: string, name: string, tensor: tf.Tensor, shape: readonly number[]): void {
  const facts = { [name]: tensor, 'shape needed': shape };
  if (!(tensor instanceof tf.Tensor)) throw new ShapeError(where, `${name} must be a tensor`, facts);
  if (tensor.isDisposed) throw new ShapeError(where, `${name} must not be disposed`, facts);
  if (tensor.dtype !== 'float32') throw new ShapeError(where, `${name} must be float32`, facts);
  if (`${tensor.shape}` === `${shape}`) return;
  const isTransposed = `${[...tensor.shape].reverse()}` === `${shape}`;
  const rule = `${name} must have its variable's shape${isTransposed ? ': matrices are [in, out]; transpose it' : ''}`;
  throw new ShapeError(where, rule, facts);
}
