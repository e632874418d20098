// The attention layers that a Hugging Face config.json describes.
import { type CacheShape, isAttentionError } from '@polyhead/core';
import { cacheShape, type LayerConfig } from '@polyhead/inspect';
import { UsageError } from '../command-line/errors';
import { count } from '../print/format-number';
import { has, type Json, readJsonObject, shown } from './json-object';
import { mostSize, mostTokens, type PlannedModel } from './planned-model';

/** What the families of models call the same size. */
const names = {
  embedDim: ['hidden_size', 'n_embd', 'n_embed', 'd_model', 'dim'],
  numHeads: ['num_attention_heads', 'n_head', 'n_heads', 'num_heads'],
  numKeyValueHeads: [
    'num_key_value_heads',
    'num_kv_heads',
    'n_kv_heads',
    'n_head_kv',
    'multi_query_group_num',
  ],
  headDim: ['head_dim', 'd_kv', 'kv_channels'],
  layers: ['num_hidden_layers', 'n_layer', 'n_layers', 'num_layers'],
  context: ['max_position_embeddings', 'n_positions', 'n_ctx', 'max_seq_len', 'seq_length'],
  latent: ['kv_lora_rank'],
  rotated: ['qk_rope_head_dim'],
} as const;

const encoders = [
  'albert',
  'bert',
  'camembert',
  'deberta',
  'deberta-v2',
  'distilbert',
  'electra',
  'roberta',
  'xlm-roberta',
];
/** Decoders whose projections have biases, though their configs do not say so. */
const biasedDecoders = ['bloom', 'gpt2', 'gpt_bigcode', 'gpt_neox', 'opt'];

/** @throws UsageError for anything else; it says what is wrong */
export function readConfigFile(path: string): PlannedModel {
  const file = readJsonObject(path);
  const json = modelOf(file);
  const { embedDim, numHeads, layers } = requiredSizes(path, json);
  const context = sizeOf(path, json, 'context');
  const model = { name: path, layers, ...(context !== undefined && { context }) };
  const latent = sizeOf(path, json, 'latent');
  if (latent !== undefined) {
    // Shared by all heads (DeepSeek-AI 2024, 2405.04434); values come from it too.
    const cached = {
      batch: 1,
      heads: 1,
      keySize: latent + (sizeOf(path, json, 'rotated') ?? 0),
      valueSize: 0,
    };
    return { ...model, cached, notes: notesOf(json) };
  }
  const headDim = sizeOf(path, json, 'headDim');
  const numKeyValueHeads = isMultiQuery(json) ? 1 : sizeOf(path, json, 'numKeyValueHeads');
  const config: LayerConfig = {
    embedDim,
    numHeads,
    ...(headDim !== undefined && { headDim }),
    ...(numKeyValueHeads !== undefined && { numKeyValueHeads }),
    ...(hasBias(json) && { useBias: true }),
  };
  const cached = shapeOf(path, config);
  return { ...model, config, ...(!isFamily(json, encoders) && { cached }), notes: notesOf(json) };
}

/** Models of text and images keep the sizes of their decoder in an object of its own. */
function modelOf(json: Json): Json {
  const text = has(json, 'text_config') ? json.text_config : undefined;
  const isOwn = typeof text === 'object' && text !== null && !names.numHeads.some((name) => has(json, name));
  return isOwn ? (text as Json) : json;
}

function requiredSizes(path: string, json: Json) {
  const sizes = {
    embedDim: sizeOf(path, json, 'embedDim'),
    numHeads: sizeOf(path, json, 'numHeads'),
    layers: sizeOf(path, json, 'layers'),
  };
  const missing = Object.entries(sizes).flatMap(([size, value]) =>
    value === undefined ? [names[size as keyof typeof sizes].join(' or ')] : [],
  );
  if (missing.length === 0) return sizes as Record<keyof typeof sizes, number>;
  throw new UsageError(`${path} is no config of a model with attention: it has no ${missing.join(', no ')}`);
}

/** The first of its names that is there and is not null. @throws UsageError unless it is a size */
function sizeOf(path: string, json: Json, size: keyof typeof names): number | undefined {
  const name = names[size].find((candidate) => has(json, candidate));
  if (name === undefined) return undefined;
  const value = json[name];
  const most = size === 'context' ? mostTokens : mostSize;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new UsageError(
    `${path}: ${name} must be a whole number from 1 to ${count(most)}, and is ${shown(value)}`,
  );
}

function shapeOf(path: string, config: LayerConfig): CacheShape {
  try {
    return cacheShape(config);
  } catch (error) {
    if (isAttentionError(error)) throw new UsageError(`${path} describes no layer: ${error.message}`);
    throw error;
  }
}

/** Falcon's newer models have groups, whatever their `multi_query` says. */
function isMultiQuery(json: Json): boolean {
  return json.multi_query === true && json.new_decoder_architecture !== true;
}

function hasBias(json: Json): boolean {
  const isSaid = json.attention_bias === true || json.bias === true;
  return isSaid || isFamily(json, [...encoders, ...biasedDecoders]);
}

function isFamily({ model_type: type }: Json, families: readonly string[]): boolean {
  return typeof type === 'string' && families.includes(type);
}

function notesOf({ sliding_window: window, use_sliding_window: isUsed }: Json): string[] {
  if (typeof window !== 'number' || isUsed === false) return [];
  return [`its sliding_window of ${shown(window)} tokens is not counted: all tokens are kept and seen`];
}
