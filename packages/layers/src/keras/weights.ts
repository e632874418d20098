// The weights of a Keras model, as they may come, and which variable each is for.
import { ConfigError, ShapeError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import type { LayersModel, LayerVariable, layers } from '@tensorflow/tfjs-layers';

const where = 'loadKerasModel';

/** One weight by its name. */
export interface KerasWeight {
  /** Such as `attention/query/kernel`, with or without `:0`. */
  readonly name: string;
  /** As Keras has it. */
  readonly shape: readonly number[];
  /** Row by row. */
  readonly data: ArrayLike<number>;
  /** Default: float32. */
  readonly dtype?: string | undefined;
}

/** Bytes of a file of weights. */
export type Bytes = ArrayBuffer | Uint8Array;

/** The groups of a manifest, as `model.json` has them. */
export type WeightsManifest = readonly {
  readonly paths?: readonly string[];
  readonly weights: readonly tf.io.WeightsManifestEntry[];
}[];

/**
 * Weights: by name, or listed with their names; or the bytes that a manifest describes: one file or several in its order, or by
 * the paths that it names; or what a handler of tf.io loads.
 */
export type KerasWeights =
  | Readonly<Record<string, tf.Tensor | Omit<KerasWeight, 'name'>>>
  | readonly KerasWeight[]
  | Bytes
  | readonly Bytes[]
  | Readonly<Record<string, Bytes>>
  | Pick<tf.io.ModelArtifacts, 'weightSpecs' | 'weightData'>;

/** Tensors by name, in order; to be called within a tidy. */
export function readWeights(
  weights: KerasWeights,
  manifest: WeightsManifest | undefined,
): readonly (readonly [string, tf.Tensor])[] {
  if (typeof weights !== 'object' || weights === null)
    throw new ConfigError(where, 'weights must be tensors by name, a list of them, or bytes', { weights });
  const { weightSpecs, weightData } = weights as Pick<tf.io.ModelArtifacts, 'weightSpecs' | 'weightData'>;
  if (Array.isArray(weightSpecs)) {
    const data = (Array.isArray(weightData) ? weightData : [weightData]) as Bytes[];
    return decoded(data, weightSpecs);
  }
  if (isBytes(weights)) return decoded([weights], specsOf(manifest));
  const list = Object.entries(weights as Record<string, unknown>);
  if (list.length > 0 && list.every(([, value]) => isBytes(value)))
    return decoded(inOrder(weights as Readonly<Record<string, Bytes>>, manifest), specsOf(manifest));
  if (Array.isArray(weights)) return weights.map((weight) => [weight.name, tensorOf(weight)] as const);
  return list.map(([name, value]) => [name, tensorOf({ ...(value as KerasWeight), name }, value)] as const);
}

/**
 * Gives each variable of a model its weight.
 *
 * @param names the names that weights of a layer may stand under, by the name of the layer
 * @throws ShapeError for weights that are missing, that no layer has, and that do not fit
 */
export function setWeights(
  model: LayersModel,
  weights: readonly (readonly [string, tf.Tensor])[],
  names: ReadonlyMap<string, readonly string[]>,
): void {
  const sources = weights
    .map(([name, tensor]) => ({ name, path: pathOf(name), tensor }))
    .filter(({ path }) => path.at(-1) !== 'seed_generator_state');
  const targets = model.layers.flatMap((layer) =>
    layer.weights.map((weight) => ({ layer, weight, paths: pathsOf(layer, weight, names) })),
  );
  const free = new Set(sources);
  const pairs = new Map<(typeof targets)[number], (typeof sources)[number]>();
  // The best fits first, so that a short name takes no weight that is another's by its whole name.
  const fits = targets.flatMap((target) =>
    sources.flatMap((source) => {
      const extra = Math.min(...target.paths.map((path, n) => distance(path, source.path) + n / 10));
      return Number.isFinite(extra) ? [{ target, source, extra }] : [];
    }),
  );
  for (const { target, source } of fits.sort((one, other) => one.extra - other.extra)) {
    if (pairs.has(target) || !free.has(source)) continue;
    pairs.set(target, source);
    free.delete(source);
  }
  const missing = targets.filter((target) => !pairs.has(target)).map(({ weight }) => weight.originalName);
  const unknown = [...free].map(({ name }) => name);
  if (missing.length + unknown.length > 0)
    throw new ShapeError(where, 'weights must be those of the layers', { missing, unknown });
  for (const [{ layer, weight }, { name, tensor }] of pairs)
    weight.write(fitted(layer, weight, { name, tensor }));
}

/** Keras's kernels of attention have an axis of heads: [E, H, D] is [E, H · D] here. */
function fitted(
  layer: layers.Layer,
  weight: LayerVariable,
  { name, tensor }: { readonly name: string; readonly tensor: tf.Tensor },
): tf.Tensor {
  const shape = weight.shape as number[];
  if (`${tensor.shape}` === `${shape}`) return tensor;
  const size = shape.reduce((product, n) => product * n, 1);
  const isAttention = layer.getClassName() === 'PolyheadAttention';
  if (isAttention && tensor.size === size && tensor.rank === shape.length + 1)
    return tf.reshape(tensor, shape);
  throw new ShapeError(where, 'a weight must have the shape of its variable', {
    [name]: tensor,
    layer: layer.name,
    'shape needed': shape,
  });
}

/** The paths that a weight may have, the likeliest first. */
function pathsOf(
  layer: layers.Layer,
  { originalName }: LayerVariable,
  names: ReadonlyMap<string, readonly string[]>,
): readonly (readonly string[])[] {
  const own = originalName.slice(layer.name.length + 1);
  const isOutput = layer.getClassName() === 'PolyheadAttention' && own.startsWith('output/');
  const short = isOutput ? own.replace('output/', 'attention_output/') : own;
  return (names.get(layer.name) ?? [layer.name]).map((name) => `${name}/${short}`.split('/'));
}

function pathOf(name: string): readonly string[] {
  return name.replace(/:\d+$/, '').split('/');
}

/** How many names a source's path has more than that of a variable; ∞ where it is another's. */
function distance(path: readonly string[], source: readonly string[]): number {
  if (path.at(-1) !== source.at(-1)) return Number.POSITIVE_INFINITY;
  let matched = 0;
  for (const name of source) if (name === path[matched]) matched++;
  return matched === path.length ? source.length - path.length : Number.POSITIVE_INFINITY;
}

function tensorOf({ name, shape, data, dtype }: KerasWeight, made?: unknown): tf.Tensor {
  if (made instanceof tf.Tensor) return made;
  if (!Array.isArray(shape) || data === undefined)
    throw new ConfigError(where, 'a weight must be a tensor, or have a shape and data', { name, shape });
  const type = (dtype ?? 'float32') as 'float32';
  return tf.tensor(type === 'float32' ? Float32Array.from(data) : Int32Array.from(data), [...shape], type);
}

function isBytes(value: unknown): value is Bytes {
  return value instanceof ArrayBuffer || value instanceof Uint8Array;
}

function specsOf(manifest: WeightsManifest | undefined): tf.io.WeightsManifestEntry[] {
  if (manifest) return manifest.flatMap(({ weights }) => weights);
  throw new ConfigError(where, 'bytes need a weightsManifest, as model.json has it', {
    weightsManifest: manifest,
  });
}

/** Files by path, in the order of a manifest. */
function inOrder(files: Readonly<Record<string, Bytes>>, manifest: WeightsManifest | undefined): Bytes[] {
  if (Array.isArray(files)) return files;
  const paths = (manifest ?? []).flatMap(({ paths = [] }) => paths);
  const missing = paths.filter((path) => !Object.hasOwn(files, path));
  if (missing.length > 0)
    throw new ConfigError(where, 'the files that the manifest names must be given', { missing });
  return paths.map((path) => files[path]!);
}

function decoded(files: readonly Bytes[], specs: tf.io.WeightsManifestEntry[]): [string, tf.Tensor][] {
  const buffers = files.map((bytes) =>
    bytes instanceof ArrayBuffer
      ? bytes
      : (bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer),
  );
  const needed = specs.filter(({ group }) => (group as string | undefined) !== 'optimizer');
  const tensors = tf.io.decodeWeights(tf.io.concatenateArrayBuffers(buffers), specs);
  return needed.map(({ name }) => [name, tensors[name]!]);
}
