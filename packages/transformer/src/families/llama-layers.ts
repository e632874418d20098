// Which layers of Llama's descendants see a window, and which positions each has.
import { ConfigError } from '@polyhead/core';
import type { HuggingFaceConfig } from './hugging-face-config';
import type { Json } from './model-description';
import { lengthOf, type RopeOptions, ropeOptions, rotaryOf } from './rotary-of';

/** The types of Hugging Face that this family reads. */
export type LlamaType =
  | 'llama'
  | 'mistral'
  | 'qwen2'
  | 'qwen3'
  | 'smollm3'
  | 'gemma'
  | 'gemma2'
  | 'gemma3_text';

const where = 'configFromHuggingFace';

/** Sizes that all parts of a model share. */
export interface Sizes {
  readonly type: LlamaType;
  readonly embedDim: number;
  readonly numLayers: number;
  readonly numHeads: number;
  readonly numKeyValueHeads: number;
  readonly headDim: number;
  readonly epsilon: number;
  readonly maxLength: number;
}

/** Whether each layer sees all tokens before it, or a window of them. */
export function layerTypes({ type, numLayers }: Sizes, config: HuggingFaceConfig): readonly string[] {
  const types = config.list('layer_types', numLayers);
  const each = (isSliding: (layer: number) => boolean) =>
    Array.from({ length: numLayers }, (_, layer) =>
      isSliding(layer) ? 'sliding_attention' : 'full_attention',
    );
  const byDefault = each(defaultWindows(type, numLayers, config));
  if (!types) return byDefault;
  for (const name of types) {
    if (name === 'full_attention' || name === 'sliding_attention') continue;
    throw new ConfigError(where, 'layer_types must be full_attention or sliding_attention', {
      layer_types: types,
    });
  }
  return types as readonly string[];
}

/** Which layers have a window, where a config has no `layer_types`. */
function defaultWindows(
  type: LlamaType,
  numLayers: number,
  config: HuggingFaceConfig,
): (layer: number) => boolean {
  switch (type) {
    case 'mistral':
      return () => config.raw('sliding_window') !== undefined;
    case 'qwen2':
    case 'qwen3': {
      const isUsed = config.flag('use_sliding_window', false);
      const full = config.number('max_window_layers', 28);
      return (layer) => isUsed && layer >= full;
    }
    case 'smollm3': {
      const isUsed = config.flag('use_sliding_window', false);
      const hasRotary = rotaryLayers(numLayers, config);
      config.ignore('max_window_layers');
      return (layer) => isUsed && !hasRotary[layer];
    }
    case 'gemma2':
      config.ignore('sliding_window_size');
      return (layer) => layer % 2 === 0;
    case 'gemma3_text': {
      const pattern = config.number('sliding_window_pattern', config.number('_sliding_window_pattern', 6));
      return (layer) => (layer + 1) % pattern !== 0;
    }
    default:
      return () => false;
  }
}

/** SmolLM3: which layers turn queries and keys. The list says 1 for those that do. */
function rotaryLayers(numLayers: number, config: HuggingFaceConfig): readonly boolean[] {
  const interval = config.number('no_rope_layer_interval', 4);
  const flags = config.list('no_rope_layers', numLayers);
  return Array.from({ length: numLayers }, (_, layer) =>
    flags ? flags[layer] !== 0 && flags[layer] !== false : (layer + 1) % interval !== 0,
  );
}

interface LayerPositions {
  /** JSON of the position methods, by name. */
  readonly shared: Json;
  /** That of a layer. */
  readonly of: (layer: number) => Json | undefined;
}

export function positionsOf(
  sizes: Sizes,
  config: HuggingFaceConfig,
  types: readonly string[],
): { readonly positions: LayerPositions; readonly maxLength: number | undefined } {
  const { type, numLayers, maxLength: length } = sizes;
  const originalLength = config.optionalNumber('original_max_position_embeddings');
  const rotary = (options: RopeOptions) =>
    rotaryOf(where, options, { ...sizes, maxLength: length, originalLength });
  const base = { smollm3: 2e6, gemma3_text: 1e6 }[type as string] ?? 10_000;
  const full = ropeOptions(config, { base, layerType: 'full_attention' });
  const maxLength = lengthOf(full, length);
  if (type === 'gemma3_text') {
    const sliding = config.raw('rope_parameters')
      ? ropeOptions(config, { base: 10_000, layerType: 'sliding_attention' })
      : { base: config.number('rope_local_base_freq', 10_000), scaling: undefined, partialFactor: 1 };
    const shared = { rotary: rotary(full), 'sliding-rotary': rotary(sliding) };
    const of = (layer: number) => ({
      ref: types[layer] === 'sliding_attention' ? 'sliding-rotary' : 'rotary',
    });
    return { positions: { shared, of }, maxLength };
  }
  const turned = type === 'smollm3' ? rotaryLayers(numLayers, config) : undefined;
  const of = (layer: number) => (turned?.[layer] === false ? undefined : { ref: 'rotary' });
  return { positions: { shared: { rotary: rotary(full) }, of }, maxLength };
}
