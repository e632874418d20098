import { ConfigError, causal, isAttentionError, type Kind, UnsupportedError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { type LayersModel, loadLayersModel } from '@tensorflow/tfjs-layers';
import { registerLayers } from '../register-layers';
import { variantOf } from './attention';
import { type GraphLayer, readGraph } from './graph';
import { checkOptions } from './layer-config';
import { topologyOf, withAttention } from './topology';
import { type KerasWeights, readWeights, setWeights, type WeightsManifest } from './weights';

/** What a Keras model is loaded with. */
export interface LoadKerasOptions {
  /** The exports that its attention is made of: `[MultiHeadAttention, GroupedQueryAttention]`. They are registered. */
  readonly variants: readonly Kind[];
}

/**
 * A Keras 2 or 3 model with attention as a model of tfjs, which fits, saves and loads: `MultiHeadAttention` and
 * `GroupQueryAttention` become layers of this package, masks of padding become inputs of theirs, models within it are unfolded.
 * Outputs are Keras's, in rows of padding too.
 *
 * @param json what `model.to_json()` gives, or a `model.json` with `modelTopology` and `weightsManifest`; text or parsed
 * @param weights by name, or bytes that the manifest describes
 * @throws ConfigError for a variant that is not given, and for what is no functional or sequential model
 * @throws UnsupportedError for layers, options and calls that have no counterpart, by their names
 * @throws ShapeError for weights that are missing, unknown or misshapen
 * @example
 * const model = await loadKerasModel(json, weights, { variants: [MultiHeadAttention] });
 */
export async function loadKerasModel(
  json: string | object,
  weights: KerasWeights,
  { variants }: LoadKerasOptions,
): Promise<LayersModel> {
  const { topology, manifest } = parsed(json);
  const graph = readGraph(topology);
  for (const layer of graph.layers) checkVariant(layer, variants);
  registerLayers([...variants, causal]);
  const prepared = withAttention(graph);
  const modelTopology = topologyOf(prepared);
  const model = await loadLayersModel({ load: async () => ({ modelTopology }) }).catch((error: Error) => {
    if (isAttentionError(error)) throw error;
    throw new UnsupportedError('loadKerasModel', 'tfjs cannot make the layers of the model', [error.message]);
  });
  try {
    checkOptions(model, prepared);
    const names = new Map(prepared.layers.map((layer) => [layer.name, layer.names]));
    tf.tidy(() => setWeights(model, readWeights(weights, manifest), names));
  } catch (error) {
    model.dispose();
    throw error;
  }
  return model;
}

function parsed(json: string | object): {
  readonly topology: unknown;
  readonly manifest: WeightsManifest | undefined;
} {
  const all = (typeof json === 'string' ? JSON.parse(json) : json) as Record<string, unknown>;
  if (typeof all !== 'object' || all === null)
    throw new ConfigError('loadKerasModel', 'json must be the topology of a model', { json: all });
  const inner = (all.modelTopology ?? all) as Record<string, unknown>;
  const topology = inner.model_config ?? inner;
  return {
    topology: typeof topology === 'string' ? JSON.parse(topology) : topology,
    manifest: (all.weightsManifest ?? undefined) as WeightsManifest | undefined,
  };
}

/** @throws ConfigError for attention whose variant was not given */
function checkVariant({ name, className, isOfKeras }: GraphLayer, variants: readonly Kind[]): void {
  const variant = variantOf[className];
  if (!isOfKeras || !variant || variants.some(({ kind }) => kind === variant)) return;
  throw new ConfigError('loadKerasModel', `pass the export ${variant} in variants`, {
    layer: name,
    class_name: className,
    variants: variants.map(({ kind }) => kind),
  });
}
