// Rotary positions as configs of Hugging Face describe them, in the words of `rotary` of @polyhead/relative-position.
import { ConfigError } from '@polyhead/core';
import type { HuggingFaceConfig } from './hugging-face-config';
import type { Json } from './model-description';

/** What a config says of rotary positions. */
export interface RopeOptions {
  /** The base, `rope_theta`. */
  readonly base: number;
  /** `rope_scaling`; undefined is none. */
  readonly scaling: Json | undefined;
  /** Share of a head that is turned. */
  readonly partialFactor: number;
}

/**
 * `rope_theta` and `rope_scaling`, or `rope_parameters`, which holds both.
 *
 * @param layerType of `rope_parameters` that differ by the type of a layer
 */
export function ropeOptions(
  config: HuggingFaceConfig,
  byDefault: { readonly base: number; readonly layerType?: string },
): RopeOptions {
  const parameters = config.raw('rope_parameters') as Json | undefined;
  const own = (byDefault.layerType && parameters?.[byDefault.layerType]) ?? parameters;
  const { rope_theta, partial_rotary_factor, ...scaling } = (own ?? config.raw('rope_scaling') ?? {}) as Json;
  const isScaled = Object.keys(scaling).length > 0;
  return {
    base: Number(rope_theta ?? config.number('rope_theta', byDefault.base)),
    partialFactor: Number(partial_rotary_factor ?? config.number('partial_rotary_factor', 1)),
    scaling: isScaled ? scaling : undefined,
  };
}

/** The options of each type of scaling by Hugging Face's names, and ours. */
const types: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  default: {},
  linear: { factor: 'factor' },
  dynamic: { factor: 'factor' },
  yarn: {
    factor: 'factor',
    original_max_position_embeddings: 'originalLength',
    beta_fast: 'betaFast',
    beta_slow: 'betaSlow',
    truncate: 'truncate',
    attention_factor: 'attentionFactor',
    mscale: 'mscale',
    mscale_all_dim: 'mscaleAllDim',
  },
  longrope: {
    factor: 'factor',
    original_max_position_embeddings: 'originalLength',
    short_factor: 'shortFactors',
    long_factor: 'longFactors',
    attention_factor: 'attentionFactor',
  },
  llama3: {
    factor: 'factor',
    original_max_position_embeddings: 'originalLength',
    low_freq_factor: 'lowFrequencyFactor',
    high_freq_factor: 'highFrequencyFactor',
  },
};

/**
 * JSON of `rotary`.
 *
 * @param sizes D, the length of the config, and the length before scaling where the config says it beside `rope_scaling`
 * @throws ConfigError for a type of scaling, or an option of it, that is not known
 */
export function rotaryOf(
  where: string,
  { base, scaling, partialFactor }: RopeOptions,
  sizes: {
    readonly headDim: number;
    readonly maxLength: number;
    readonly originalLength?: number | undefined;
  },
): Json {
  const { headDim } = sizes;
  const rotaryDim = Math.trunc(headDim * partialFactor);
  const config = { headDim, base, ...(rotaryDim !== headDim && { rotaryDim }) };
  const translated = scaling && scalingOf(where, scaling, sizes);
  return { kind: 'rotary', config: { ...config, ...(translated && { scaling: translated }) } };
}

function scalingOf(
  where: string,
  { rope_type, type: oldName, ...parameters }: Json,
  { maxLength, originalLength }: { readonly maxLength: number; readonly originalLength?: number | undefined },
): Json | undefined {
  const type = String(rope_type ?? oldName ?? 'default');
  const names = Object.hasOwn(types, type) ? types[type] : undefined;
  if (!names)
    throw new ConfigError(where, `rope_type must be one of ${Object.keys(types).join(', ')}`, {
      rope_type: type,
    });
  if (type === 'default') return undefined;
  const options: Record<string, unknown> = { type };
  for (const [key, value] of Object.entries(parameters)) {
    if (value === null || value === undefined) continue;
    const name = Object.hasOwn(names, key) ? names[key] : undefined;
    // `dynamic` grows from the length of the config, whatever else it says.
    if (type === 'dynamic' && key === 'original_max_position_embeddings') continue;
    if (!name)
      throw new ConfigError(where, `rope_scaling of type ${type} must hold known options only`, {
        [key]: value,
      });
    options[name] = value;
  }
  if (type === 'linear' || type === 'llama3') return options;
  if (type === 'longrope') return longropeOf(options, maxLength, originalLength);
  return { originalLength: maxLength, ...options };
}

/** Where the original length stands beside `rope_scaling`, the ratio of the lengths goes before a factor. */
function longropeOf(options: Json, maxLength: number, beside: number | undefined): Json {
  if (beside !== undefined) return { ...options, originalLength: beside, factor: maxLength / beside };
  const { originalLength = maxLength } = options as { readonly originalLength?: number };
  return { factor: maxLength / originalLength, ...options, originalLength };
}

/** The most tokens of a model with this scaling: `max_position_embeddings`, or more where the scaling goes on beyond it. */
export function lengthOf({ scaling }: RopeOptions, maxLength: number): number | undefined {
  const type = scaling?.rope_type ?? scaling?.type ?? 'default';
  if (type === 'dynamic') return undefined;
  const { factor = 1, original_max_position_embeddings: original } = (scaling ?? {}) as Readonly<
    Record<string, number>
  >;
  if (type === 'linear') return Math.floor(maxLength * factor);
  return type === 'yarn' ? Math.max(maxLength, Math.floor(factor * (original ?? maxLength))) : maxLength;
}
