// Sizes that all layers of a stack share, or have one by one, as a config and its family say.
import { ConfigError } from '@polyhead/core';
import type { ConfigReader } from './config-reader';
import type { Biases, Family } from './families';

export const names = {
  embedDim: ['hidden_size', 'n_embd', 'n_embed', 'd_model', 'model_dim', 'dim', 'embed_dim', 'emb_dim'],
  heads: ['num_attention_heads', 'n_head', 'n_heads', 'num_heads', 'num_query_heads', 'attention_heads'],
  keyValueHeads: [
    ...['num_key_value_heads', 'num_kv_heads', 'n_kv_heads', 'n_head_kv', 'kv_n_heads'],
    ...['num_key_value_heads_per_layer', 'multi_query_group_num', 'num_query_groups', 'num_attention_groups'],
  ],
  headDim: [
    ...['head_dim', 'attention_head_dim', 'attention_head_size', 'hidden_size_per_head', 'd_head'],
    ...['d_kv', 'kv_channels'],
  ],
  layers: ['num_hidden_layers', 'n_layer', 'n_layers', 'num_layers', 'num_transformer_layers', 'layers'],
  context: [
    ...['max_position_embeddings', 'n_positions', 'n_ctx', 'max_seq_len', 'max_sequence_length'],
    ...['seq_length', 'max_context_length', 'max_target_positions', 'model_max_length'],
  ],
} as const;

/** Keys that are not understood, by the number that they may change. */
export interface Unsure {
  readonly attentionLayers: string[];
  readonly parameters: string[];
  readonly cache: string[];
}

/** What is being read. */
export interface Part {
  readonly reader: ConfigReader;
  readonly family: Family | undefined;
  readonly notes: string[];
  readonly unsure: Unsure;
}

/** Sizes of all layers of a stack, and what of them differs by layer. */
export interface StackSizes extends Part {
  readonly embedDim: number;
  readonly biases: Biases;
  readonly hasGate: boolean;
  readonly heads: ByLayer;
  readonly keyValueHeads: ByLayer | undefined;
  readonly headDim: number | undefined;
}

/** One for all, or one for each layer. */
export type ByLayer = number | readonly number[];

/** @throws ConfigError where a layer has none */
export function at(sizes: ByLayer, layer: number): number {
  const size = typeof sizes === 'number' ? sizes : sizes[layer];
  if (size !== undefined) return size;
  const facts = { layer, numbers: (sizes as readonly number[]).length };
  throw new ConfigError('planModel', 'lists of heads must have a number for each layer', facts);
}

/** How an encoder or a decoder names its own. */
export function namesOf(side: 'encoder' | 'decoder') {
  const layers = [`${side}_layers`, `num_${side}_layers`, `${side}_num_layers`, `${side}_num_hidden_layers`];
  const heads = [`${side}_attention_heads`, `${side}_num_heads`, `${side}_num_attention_heads`];
  return {
    layers: [...layers, ...names.layers],
    heads: [...heads, `num_${side}_attention_heads`, ...names.heads],
    keyValueHeads: [`${side}_num_key_value_heads`, ...names.keyValueHeads],
  };
}

/** @throws ConfigError where neither the file nor its family has a size */
export function stackSizes(part: Part, side: 'encoder' | 'decoder'): StackSizes {
  const { reader, family } = part;
  const inner = reader.within('attn_config') ?? reader;
  const byLayer = (keys: readonly string[]) => reader.size(...keys) ?? reader.numbers(...keys);
  const embedDim = required(part, names.embedDim, (keys) => reader.size(...keys));
  const ofSide = namesOf(side);
  const heads = required(part, ofSide.heads, byLayer);
  const hasOne = oneKeyValueHead(reader, inner);
  const said = byLayer(ofSide.keyValueHeads) ?? inner.size(...names.keyValueHeads);
  if (said !== undefined) reader.value('num_gqa_groups'); // the same in other words
  const isGated = reader.flag('attn_output_gate', 'attention_output_gate') === true;
  if (inner !== reader) markUnread({ ...part, reader: inner });
  return {
    ...part,
    embedDim,
    heads,
    keyValueHeads: hasOne
      ? 1
      : (said ?? groupedBlocks(reader, heads) ?? unlessNull(part, 'num_key_value_heads')),
    headDim: reader.size(...names.headDim) ?? unlessNull(part, 'head_dim') ?? unlessNull(part, 'd_kv'),
    biases: biasesOf(part),
    hasGate: (family?.hasGate ?? false) || isGated,
  };
}

/** A search of architectures gives each block a number of query heads that share a key/value head. */
function groupedBlocks(reader: ConfigReader, heads: ByLayer): readonly number[] | undefined {
  return reader.blockAttentions()?.map((attention, layer) => {
    const size = attention.size('n_heads_in_group') ?? 1;
    return (typeof heads === 'number' ? heads : (heads[layer] ?? 1)) / size;
  });
}

/** As the family has it; of others, as the file says of attention or of everything. */
function biasesOf({ reader, family }: Part): Biases {
  if (family) return family.biases(reader);
  return (reader.flag('attention_bias', 'qkv_bias', 'use_bias', 'bias') ?? false) ? 'qkvo' : '';
}

/** Multi-query attention, said by a flag. Falcon's newer models have groups, whatever their flag says. */
function oneKeyValueHead(reader: ConfigReader, inner: ConfigReader): boolean {
  const isNewer = reader.flag('new_decoder_architecture') === true;
  const isGrouped = reader.value('multi_query_group_num') !== undefined;
  const isSaid = reader.flag('multi_query', 'multi_query_attention') === true;
  const isKind =
    inner.text('attn_type') === 'multiquery_attention' || reader.text('attention_head_type') === 'multiquery';
  return isKind || (isSaid && !isNewer && !isGrouped);
}

/** Null in a file says that it follows from other sizes. */
const unlessNull = (part: Part, name: string) =>
  part.reader.mentions(name) ? undefined : defaulted(part, name);

function defaulted({ family, notes }: Part, name: string): number | undefined {
  const value = family?.defaults?.[name];
  if (typeof value !== 'number') return undefined;
  notes.push(`${name} is not in the file: ${value} is the family's own`);
  return value;
}

/** @throws ConfigError where neither the file nor its family has it */
export function required<T>(
  part: Part,
  keys: readonly string[],
  read: (keys: readonly string[]) => T | undefined,
): T {
  const value = read(keys);
  if (value !== undefined) return value;
  part.reader.refuse('must be a whole number', ...keys);
  const name = keys.find((key) => typeof part.family?.defaults?.[key] === 'number');
  if (name !== undefined) return defaulted(part, name) as T;
  const usual = keys.filter((key) => !/^(num_)?(encoder|decoder)_/.test(key));
  throw new ConfigError('planModel', `the config must have ${usual.slice(0, 3).join(' or ')}`, {
    model_type: part.reader.text('model_type'),
  });
}

/** Names what bears on attention and was not read. */
export function markUnread({ reader, unsure }: Part): void {
  for (const key of reader.unread()) markKey(unsure, `${reader.path}${key}`);
}

function markKey(unsure: Unsure, key: string): void {
  const ofCache =
    /is_(en|de)coder|window|sliding|local|global|shar|kv|latent|key|value|head|pattern|types?$|mode|hybrid|cross|sparse|compress|bidirection|loop|recurr|ut_|swa|gqa|mqa|cla|nsa|moba|dsa|index|retention|dilat|repeat|lightning|causal/;
  const ofParameters =
    /is_(en|de)coder|bias|gate|sink|lora|rank|head|query|key|value|kv|shar|cross|attn|attention/;
  if (ofCache.test(key)) unsure.cache.push(key);
  if (ofParameters.test(key) || !ofCache.test(key)) unsure.parameters.push(key);
  if (/is_(en|de)coder|types|pattern|hybrid|cross/.test(key)) unsure.attentionLayers.push(key);
}
