// What all layers of this package have in common: parts of Polyhead inside a layer that tfjs builds, trains, saves and disposes.
import { ConfigError, type NamedVariable, toConfig } from '@polyhead/core';
import { normalizeOptions } from '@polyhead/core/layer';
import type * as tf from '@tensorflow/tfjs-core';
import { initializers, layers } from '@tensorflow/tfjs-layers';
import { makeParts, spell, unspell } from './kinds';

/** The options that every tf.layer has: name, trainable, inputShape, batchInputShape, dtype. */
export type LayerOptions = NonNullable<ConstructorParameters<typeof layers.Layer>[0]>;

/** Their names, and what tfjs adds where it makes a layer of JSON. */
const ofAnyLayer = [
  ...['name', 'trainable', 'inputShape', 'batchInputShape', 'batchSize', 'dtype', 'inputDType', 'weights'],
  'customObjects',
];

/**
 * The options that were given.
 *
 * @param own names of those that other tf.layers do not have
 * @throws ConfigError for others: tfjs would pass over them
 */
export function optionsOf<T extends object>(
  where: string,
  options: T,
  own: readonly (keyof T & string)[],
): T {
  return normalizeOptions<object>(where, 'options', options, [...ofAnyLayer, ...own] as never) as T;
}

/** Lengths of axes; null where they are known in a call only. */
export type Shape = readonly (number | null)[];

/** What a layer is made of, by name: made things, or the JSON of them. */
export type Parts = Readonly<Record<string, unknown>>;

/** What a part must be: `such` says it in words. */
export interface PartKind {
  readonly methods: readonly string[];
  readonly such: string;
}

/** A part that has variables. */
interface Owner {
  readonly variables: readonly NamedVariable[];
}

const owners = new WeakMap<tf.Variable, layers.Layer>();

/** A tf.layer around parts of Polyhead. Its weights are the parts' own variables, by their names. */
export abstract class WrappedLayer<Made extends Parts> extends layers.Layer {
  /** What it was given; widths that are not said yet come from the inputs. */
  private readonly unbuilt: Parts;
  private made: Made | undefined;

  /** @param written what `getConfig` gave, in place of parts */
  protected constructor(options: LayerOptions, parts: Parts, written: string | undefined) {
    super(options);
    this.supportsMasking = true;
    const all = written === undefined ? parts : (unspell(written) as Parts);
    this.unbuilt = Object.fromEntries(Object.entries(all).filter(([, part]) => part !== undefined));
  }

  /** The parts, once built. */
  protected get parts(): Made {
    if (!this.made) throw new ConfigError(this.name, 'the layer must be built: apply it to an input first');
    return this.made;
  }

  /** Whether it was given a part of this name. */
  protected has(name: string): boolean {
    return this.unbuilt[name] !== undefined;
  }

  /** What each part must be: the methods that it has, and what has them. */
  protected abstract readonly kinds: Readonly<Record<string, PartKind>>;

  /** The JSON of parts with widths that are not said filled in. */
  protected abstract completed(parts: Parts, shapes: readonly Shape[]): Parts;

  override build(inputShape: Shape | Shape[]): void {
    const shapes = listOfShapes(inputShape);
    const entries = Object.entries(this.unbuilt);
    const described = Object.fromEntries(entries.filter(([, part]) => !isMade(part)));
    const json = this.completed(toConfig(described) as Parts, shapes);
    const made = Object.fromEntries(entries.filter(([, part]) => isMade(part)));
    this.made = { ...makeParts<Made>(this.name, json), ...made };
    this.checkKinds(this.made);
    for (const part of Object.values(this.made)) this.adopt((part as Partial<Owner>).variables ?? []);
    super.build(inputShape as never);
  }

  /** What tfjs writes into files of models, and makes the layer of again. */
  override getConfig() {
    return { ...super.getConfig(), written: spell(this.made ?? this.unbuilt) };
  }

  /** By default the mask of the first input goes on, to the first output. */
  override computeMask(_inputs: tf.Tensor | tf.Tensor[], mask?: tf.Tensor | tf.Tensor[]): tf.Tensor {
    return (Array.isArray(mask) ? mask[0] : mask) as tf.Tensor;
  }

  /** @throws ConfigError for a part that is something else */
  private checkKinds(made: Parts): void {
    for (const [name, { methods, such }] of Object.entries(this.kinds)) {
      const part = made[name] as { readonly [method: string]: unknown } | undefined;
      if (part === undefined || methods.every((method) => typeof part[method] === 'function')) continue;
      throw new ConfigError(this.name, `${name} must be ${such}`, { [name]: part });
    }
  }

  /** tfjs makes a variable for each weight; the part's own takes its place, so that there is one. */
  private adopt(variables: readonly NamedVariable[]): void {
    for (const { name, variable } of variables) {
      const owner = owners.get(variable);
      if (owner && !variable.isDisposed)
        throw new ConfigError(this.name, 'a part with variables belongs to one layer', {
          variable: name,
          owner: owner.name,
        });
      const { shape, dtype, trainable } = variable;
      const zeros = initializers.zeros();
      const weight = this.addWeight(name, shape, dtype, zeros, undefined, trainable);
      const holder = weight as unknown as { val: tf.Variable };
      holder.val.dispose();
      holder.val = variable;
      owners.set(variable, this);
    }
  }
}

/** True for what was made already: JSON has no methods. */
function isMade(part: unknown): boolean {
  const methods = part as { readonly [name: string]: unknown } | null;
  return ['apply', 'addTo', 'spans', 'toJSON'].some((name) => typeof methods?.[name] === 'function');
}

/** One shape or several, as a list. */
export function listOfShapes(shape: Shape | readonly Shape[]): readonly Shape[] {
  return Array.isArray(shape[0]) ? (shape as readonly Shape[]) : [shape as Shape];
}

/** One tensor or several, as a list. */
export function listOfTensors(inputs: tf.Tensor | tf.Tensor[]): readonly tf.Tensor[] {
  return Array.isArray(inputs) ? inputs : [inputs];
}

/** @throws ConfigError where the size of the last axis is not known */
export function widthOf(layer: string, shape: Shape): number {
  const width = shape.at(-1);
  if (typeof width === 'number') return width;
  throw new ConfigError(layer, 'the last axis of an input must have a size', { shape });
}

/** The JSON of a part whose config says what is not said of these. */
export function withConfig(part: unknown, defaults: Readonly<Record<string, unknown>>): unknown {
  if (typeof part !== 'object' || part === null || !('kind' in part)) return part;
  const { config = {} } = part as { readonly config?: object };
  const known = Object.entries(defaults).filter(([, value]) => value !== undefined && value !== null);
  return { ...part, config: { ...Object.fromEntries(known), ...config } };
}

/** The inputs of a layer by what they are for: `names` says it, else their number does. */
export function byRole<T>(
  layer: string,
  inputs: readonly T[],
  {
    names,
    defaults,
  }: { readonly names: readonly string[] | undefined; readonly defaults: readonly string[] },
): ReadonlyMap<string, readonly T[]> {
  const roles = names ?? defaults.slice(0, inputs.length);
  if (roles.length !== inputs.length)
    throw new ConfigError(layer, 'inputs must name each input', { inputs: roles, given: inputs.length });
  const byName = new Map<string, T[]>();
  roles.forEach((role, n) => {
    byName.set(role, [...(byName.get(role) ?? []), inputs[n]!]);
  });
  return byName;
}

/** @throws ConfigError unless they are names of what a layer takes */
export function checkInputs(where: string, inputs: readonly string[], known: readonly string[]): void {
  if (Array.isArray(inputs) && inputs.every((role) => known.includes(role))) return;
  throw new ConfigError(where, `inputs must be a list of ${known.join(', ')}`, { inputs });
}
