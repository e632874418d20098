// What all parts of a model have in common: named variables, weights in and out, one `dispose`, JSON.
import {
  ConfigError,
  type Initializer,
  type NamedVariable,
  ShapeError,
  type VariableShapes,
} from '@polyhead/core';
import { cleanTidy, normalizeOptions, Weights } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';

/** Objects that a layer works with; never part of its config. */
export interface LayerParts {
  /** Stands before the names of its variables, and gives each a start of its own: "block0/norm". Default: nothing. */
  readonly name?: string | undefined;
  /** First numbers of the variables. Default: each has its own start, matrices Glorot uniform. */
  readonly initializer?: Initializer | undefined;
}

/** What a model is made of: layers of this package, attention, position methods. */
export interface ModelPart {
  /** By whole names. */
  readonly variables: readonly NamedVariable[];
  /** Disposes what it owns; twice is once. */
  dispose(): void;
  /** Plain JSON, which `fromConfig` reads. */
  toJSON?(): object;
}

/** What a layer says of itself to its base. */
export interface LayerDescription<Config extends object> {
  /** Its name, for errors and JSON. */
  readonly kind: string;
  /** Plain JSON. */
  readonly config: Config;
  /** Name and initializer, and nothing else. */
  readonly parts: LayerParts;
  /** Shapes of the variables of its own, by short names. Default: none. */
  readonly shapes?: VariableShapes;
  /** The starts of those that start otherwise than matrices, gains and other vectors do. */
  readonly starts?: { readonly [name: string]: Initializer };
  /** Those that are matrices of products as they lie, [out, in]. Default: none. */
  readonly tables?: readonly string[];
  /** Whether its config has a seed, because it or a part of it starts at random. Default: true. */
  readonly hasSeed?: boolean;
}

/** The base of the layers and models of this package. */
export abstract class Layer<Config extends object = object> implements ModelPart {
  /** The parameters of its constructor, for JSON; a layer adds its `kind`. */
  static readonly parameters: readonly string[] = ['config', 'parts'];

  /** Plain JSON, frozen. */
  readonly config: Readonly<Config>;
  /** The variables of its own. */
  protected readonly weights: Weights;
  /** The name that stands before those of its variables. */
  protected readonly name: string | undefined;
  /** The number that its variables, and those of its parts, were drawn from. */
  protected readonly seed: number;
  /** Its name, for errors and JSON. */
  protected readonly kind: string;
  private readonly hasSeed: boolean;

  protected constructor(description: LayerDescription<Config>) {
    const { kind, config, parts, shapes = {}, starts = {}, tables = [], hasSeed = true } = description;
    const { name, initializer } = normalizeOptions<LayerParts>(kind, 'parts', parts, ['name', 'initializer']);
    if (name !== undefined && (typeof name !== 'string' || name === ''))
      throw new ConfigError(kind, 'parts.name must be a text, such as "block0/norm"', { name });
    this.kind = kind;
    this.hasSeed = hasSeed;
    this.name = name;
    this.seed = (config as { readonly seed?: number }).seed ?? Math.floor(Math.random() * 2 ** 31);
    this.config = frozen(config);
    this.weights = new Weights(kind, shapes, { seed: this.seed, name, initializer, starts, tables });
  }

  /** Its own first, then those of its parts, by their whole names; what several parts share once. */
  get variables(): readonly NamedVariable[] {
    return variablesOf([this.weights, ...this.children]);
  }

  /** Copies by the names that the variables have within it, such as "block0/attention/query/kernel": the caller disposes them. */
  getWeights(): Record<string, tf.Tensor> {
    return Object.fromEntries(this.named().map(([name, variable]) => [name, tf.clone(variable)]));
  }

  /**
   * Sets all variables, by the names that `getWeights` gives them.
   *
   * @throws ShapeError for missing, unknown or misshapen weights; then nothing is set
   */
  setWeights(weights: Readonly<Record<string, tf.Tensor>>): void {
    const where = `${this.kind}.setWeights`;
    const named = this.named();
    checkWeights(where, named, weights);
    cleanTidy(() => {
      const copies = named.map(([name]) => tf.clone(weights[name]!));
      named.forEach(([, variable], n) => {
        variable.assign(copies[n]!);
      });
    });
  }

  /**
   * Which variables optimizers change.
   *
   * @param matches those meant, by their whole names. Default: all
   * @example
   * model.setTrainable(false);
   * model.setTrainable(true, (name) => name.includes('/norm/'));
   */
  setTrainable(trainable: boolean, matches: (name: string) => boolean = () => true): void {
    for (const { name, variable } of this.variables) if (matches(name)) variable.trainable = trainable;
  }

  /** All its variables and those of its parts, position methods too; twice is once. */
  dispose(): void {
    const { variables } = this;
    this.weights.dispose(); // also what is stored in another form than variables
    for (const part of this.children) part.dispose();
    for (const { variable } of variables) if (!variable.isDisposed) variable.dispose();
  }

  /**
   * Plain JSON that `fromConfig` reads: config, drawn seed, name and parts. Parts that several others share, as position
   * methods, are written once by `toConfig`.
   *
   * @throws ConfigError where a part has no JSON
   */
  toJSON(): object {
    const parts = { ...(this.name && { name: this.name }), ...this.partsOfJSON() };
    for (const [name, part] of Object.entries(this.partsOfJSON())) {
      const parts: readonly ModelPart[] = [part as ModelPart | readonly ModelPart[]].flat();
      if (parts.every((one) => typeof one.toJSON === 'function')) continue;
      throw new ConfigError(`${this.kind}.toJSON`, `parts.${name} must have a toJSON`, { [name]: part });
    }
    const config = this.hasSeed ? { ...this.config, seed: this.seed } : this.config;
    return { kind: this.kind, config, ...(Object.keys(parts).length > 0 && { parts }) };
  }

  /** Makes the parts that it is made of. Where one cannot be made, those before it, which `keep` was given, are disposed. */
  protected makeParts<T>(make: (keep: <P extends ModelPart>(part: P) => P) => T): T {
    const kept: ModelPart[] = [this.weights];
    try {
      return make((part) => {
        kept.push(part);
        return part;
      });
    } catch (error) {
      for (const part of kept) part.dispose();
      throw error;
    }
  }

  /** The parts that it is made of, in order. */
  protected get children(): readonly ModelPart[] {
    return [];
  }

  /** The parts that its constructor needs to make it again. */
  protected partsOfJSON(): object {
    return {};
  }

  private named(): readonly (readonly [string, tf.Variable])[] {
    const prefix = this.name ? `${this.name}/` : '';
    return this.variables.map(({ name, variable }) => {
      if (variable.isDisposed)
        throw new ShapeError(this.kind, `${this.kind} must not be disposed`, { [name]: variable });
      return [name.startsWith(prefix) ? name.slice(prefix.length) : name, variable] as const;
    });
  }
}

/** Those of all parts, in order; what several parts share stands once. */
export function variablesOf(parts: readonly ModelPart[]): readonly NamedVariable[] {
  const seen = new Set<tf.Variable>();
  return parts.flatMap(({ variables }) =>
    variables.filter(({ variable }) => !seen.has(variable) && seen.add(variable)),
  );
}

/** @throws ShapeError for missing, unknown or misshapen weights */
function checkWeights(
  where: string,
  named: readonly (readonly [string, tf.Variable])[],
  weights: Readonly<Record<string, tf.Tensor>>,
): void {
  if (typeof weights !== 'object' || weights === null)
    throw new ShapeError(where, 'weights must be tensors by name', { weights });
  const names = new Set(named.map(([name]) => name));
  const missing = [...names].filter((name) => !Object.hasOwn(weights, name));
  const unknown = Object.keys(weights).filter((name) => !names.has(name));
  if (missing.length + unknown.length > 0)
    throw new ShapeError(where, 'weights must have the names of the variables', { missing, unknown });
  for (const [name, variable] of named) {
    const tensor = weights[name];
    const fits = tensor instanceof tf.Tensor && !tensor.isDisposed && tensor.dtype === 'float32';
    if (fits && `${tensor.shape}` === `${variable.shape}`) continue;
    throw new ShapeError(where, `${name} must be a float32 tensor of its variable's shape`, {
      [name]: tensor,
      'shape needed': variable.shape,
    });
  }
}

/** A copy of plain JSON that nobody changes any more, without what is left out. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map((entry) => frozen(entry))) as T;
  const kept = Object.entries(value).filter(([, entry]) => entry !== undefined && entry !== null);
  return Object.freeze(Object.fromEntries(kept.map(([name, entry]) => [name, frozen(entry)]))) as T;
}
