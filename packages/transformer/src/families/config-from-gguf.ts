// From the metadata of a GGUF file to a model of ours: said in the words of Hugging Face's configs, read by the same families.
import { ConfigError } from '@polyhead/core';
import type { WeightSource, WeightTable } from '@polyhead/core/layer';
import { gpt2 } from './gpt2';
import { HuggingFaceConfig } from './hugging-face-config';
import { llama } from './llama';
import type { LlamaType } from './llama-layers';
import { type Json, type ModelDescription, transposed } from './model-description';

const where = 'configFromGguf';

/** What else is known of a GGUF file. */
export interface GgufOptions {
  /** The numbers of the tensor `rope_freqs.weight`, where the file has one: what Llama 3.1 divides its frequencies by. */
  readonly ropeFactors?: ArrayLike<number> | undefined;
}

/** Our family's type by llama.cpp's architecture. */
const architectures: Readonly<Record<string, LlamaType | 'gpt2'>> = {
  llama: 'llama',
  qwen2: 'qwen2',
  qwen3: 'qwen3',
  gemma: 'gemma',
  gemma2: 'gemma2',
  gemma3: 'gemma3_text',
  gpt2: 'gpt2',
};

/** Keys behind the architecture's name, and what Hugging Face calls them. */
const keys: Readonly<Record<string, string>> = {
  block_count: 'num_hidden_layers',
  context_length: 'max_position_embeddings',
  embedding_length: 'hidden_size',
  feed_forward_length: 'intermediate_size',
  vocab_size: 'vocab_size',
  'attention.head_count': 'num_attention_heads',
  'attention.head_count_kv': 'num_key_value_heads',
  'attention.key_length': 'head_dim',
  'attention.layer_norm_rms_epsilon': 'rms_norm_eps',
  'attention.layer_norm_epsilon': 'layer_norm_epsilon',
  'attention.sliding_window': 'sliding_window',
  'attention.sliding_window_pattern': 'sliding_window_pattern',
  'rope.freq_base': 'rope_theta',
  'rope.freq_base_swa': 'rope_local_base_freq',
  attn_logit_softcapping: 'attn_logit_softcapping',
  final_logit_softcapping: 'final_logit_softcapping',
};

/** GPT-2 has names of its own. */
const gpt2Keys: Readonly<Record<string, string>> = {
  num_hidden_layers: 'n_layer',
  max_position_embeddings: 'n_positions',
  hidden_size: 'n_embd',
  intermediate_size: 'n_inner',
  num_attention_heads: 'n_head',
};

/** Read here, or of no meaning for the numbers. */
const others: readonly string[] = [
  'attention.value_length',
  'attention.key_length_swa',
  'attention.value_length_swa',
  'attention.causal',
  'rope.dimension_count',
  'rope.scaling.type',
  'rope.scaling.factor',
  'rope.scaling.original_context_length',
  'rope.scaling.finetuned',
  'tensor_data_layout',
];

/**
 * The model that a GGUF file describes, and where its weights lie: of Llama (with Mistral and SmolLM2), Qwen2, Qwen3, Gemma, 2
 * and 3, and GPT-2. Llama's queries and keys are permuted for pairs that lie side by side, which its positions know.
 *
 * @param metadata that of the file
 * @param tensors what the file holds, by name: whether the head has a matrix of its own. Default: it has not
 * @throws ConfigError for an architecture, or an option, that is not known
 * @example
 * const checkpoint = await readGguf(file);
 * const { config, weights } = configFromGguf(checkpoint.metadata, checkpoint.tensors);
 */
export function configFromGguf(
  metadata: ReadonlyMap<string, unknown>,
  tensors: ReadonlyMap<string, unknown> = new Map(),
  options: GgufOptions = {},
): ModelDescription {
  const architecture = String(metadata.get('general.architecture'));
  const type = Object.hasOwn(architectures, architecture) ? architectures[architecture] : undefined;
  if (!type) {
    const rule = `general.architecture must be one of ${Object.keys(architectures).join(', ')}`;
    throw new ConfigError(where, rule, { 'general.architecture': architecture });
  }
  const json = {
    ...translated(metadata, architecture),
    ...scalingOf(metadata, architecture),
    tie_word_embeddings: !tensors.has('output.weight'),
  };
  if (type === 'gpt2') {
    const { config, weights } = gpt2(new HuggingFaceConfig(where, renamed(json, gpt2Keys)));
    return { config, weights: gpt2Table(weights) };
  }
  const source = new HuggingFaceConfig(where, { ...json, ...scaleOf(type, json) });
  const { config, weights } = llama(type, source);
  source.finish();
  return { config: withPairs(config, type, [tensors, options]), weights: llamaTable(weights, type) };
}

/** The values behind the architecture's name, by Hugging Face's names. */
function translated(metadata: ReadonlyMap<string, unknown>, architecture: string): Json {
  const json: Record<string, unknown> = {};
  const unknown: string[] = [];
  for (const [key, value] of metadata) {
    if (!key.startsWith(`${architecture}.`)) continue;
    const name = key.slice(architecture.length + 1);
    if (Object.hasOwn(keys, name)) json[keys[name]!] = value;
    else if (!others.includes(name)) unknown.push(key);
  }
  if (unknown.length > 0)
    throw new ConfigError(where, 'the metadata must hold known options only: none is ignored', { unknown });
  const tokens = metadata.get('tokenizer.ggml.tokens');
  const vocabulary = Array.isArray(tokens) ? { vocab_size: tokens.length } : {};
  return { ...vocabulary, ...json };
}

function scalingOf(metadata: ReadonlyMap<string, unknown>, architecture: string): Json {
  const rope = (key: string) => metadata.get(`${architecture}.rope.${key}`);
  const dimensions = rope('dimension_count');
  const headDim =
    metadata.get(`${architecture}.attention.key_length`) ??
    Number(metadata.get(`${architecture}.embedding_length`)) /
      Number(metadata.get(`${architecture}.attention.head_count`));
  const partial =
    dimensions === undefined || dimensions === headDim
      ? {}
      : { partial_rotary_factor: Number(dimensions) / Number(headDim) };
  const type = rope('scaling.type');
  if (type === undefined || type === 'none') return partial;
  const original = rope('scaling.original_context_length');
  return {
    ...partial,
    rope_scaling: {
      rope_type: type,
      factor: rope('scaling.factor'),
      ...(type === 'yarn' && { original_max_position_embeddings: original }),
    },
  };
}

/** What no key says: Gemma divides by sqrt(D), and its largest model of each version by sqrt(E / Hq). */
function scaleOf(type: LlamaType, json: Json): Json {
  if (type !== 'gemma2' && type !== 'gemma3_text') return {};
  const { num_hidden_layers, hidden_size, num_attention_heads, head_dim } = json as Readonly<
    Record<string, number>
  >;
  const perHead = hidden_size! / num_attention_heads!;
  const isLargest = num_hidden_layers === (type === 'gemma2' ? 46 : 62);
  return { query_pre_attn_scalar: isLargest ? perHead : (head_dim ?? perHead) };
}

function renamed(json: Json, names: Readonly<Record<string, string>>): Json {
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [names[key] ?? key, value]));
}

/** Rotary positions of pairs that lie side by side, for Llama; and frequencies that the file divides. */
function withPairs(
  config: object,
  type: LlamaType,
  [tensors, { ropeFactors }]: readonly [ReadonlyMap<string, unknown>, GgufOptions],
): object {
  if (tensors.has('rope_freqs.weight') && !ropeFactors) {
    const rule =
      'the file has the tensor rope_freqs.weight: read it, and pass its numbers as the option ropeFactors';
    throw new ConfigError(where, rule, { ropeFactors });
  }
  const { shared, ...rest } = config as { readonly shared: Readonly<Record<string, { config: Json }>> };
  const factors = ropeFactors && Array.from(ropeFactors);
  const scaling = factors && {
    // Always the same divisors: cos and sin keep their size, and no length changes anything.
    scaling: {
      type: 'longrope',
      factor: 1,
      originalLength: 2 ** 30,
      shortFactors: factors,
      longFactors: factors,
      attentionFactor: 1,
    },
  };
  const pairs = type === 'llama' ? { interleaved: true } : {};
  const entries = Object.entries(shared).map(([name, { config: options, ...method }]) => [
    name,
    { ...method, config: { ...options, ...pairs, ...scaling } },
  ]);
  return { ...rest, shared: Object.fromEntries(entries) };
}

const llamaNames: readonly (readonly [RegExp, string])[] = [
  [/^model\.embed_tokens\./, 'token_embd.'],
  [/^model\.norm\./, 'output_norm.'],
  [/^lm_head\./, 'output.'],
  [/^model\.layers\.(\d+)\.self_attn\.([qk])_norm\./, 'blk.$1.attn_$2_norm.'],
  [/^model\.layers\.(\d+)\.self_attn\.([qkv])_proj\./, 'blk.$1.attn_$2.'],
  [/^model\.layers\.(\d+)\.self_attn\.o_proj\./, 'blk.$1.attn_output.'],
  [/^model\.layers\.(\d+)\.mlp\.(gate|up|down)_proj\./, 'blk.$1.ffn_$2.'],
  [/^model\.layers\.(\d+)\.input_layernorm\./, 'blk.$1.attn_norm.'],
  [/^model\.layers\.(\d+)\.pre_feedforward_layernorm\./, 'blk.$1.ffn_norm.'],
  [/^model\.layers\.(\d+)\.post_feedforward_layernorm\./, 'blk.$1.post_ffw_norm.'],
];

const gpt2Names: readonly (readonly [RegExp, string])[] = [
  [/^transformer\.wte\./, 'token_embd.'],
  [/^transformer\.wpe\./, 'position_embd.'],
  [/^transformer\.ln_f\./, 'output_norm.'],
  [/^lm_head\./, 'output.'],
  [/^transformer\.h\.(\d+)\.attn\.c_attn\./, 'blk.$1.attn_qkv.'],
  [/^transformer\.h\.(\d+)\.attn\.c_proj\./, 'blk.$1.attn_output.'],
  [/^transformer\.h\.(\d+)\.ln_1\./, 'blk.$1.attn_norm.'],
  [/^transformer\.h\.(\d+)\.ln_2\./, 'blk.$1.ffn_norm.'],
  [/^transformer\.h\.(\d+)\.mlp\.c_fc\./, 'blk.$1.ffn_up.'],
  [/^transformer\.h\.(\d+)\.mlp\.c_proj\./, 'blk.$1.ffn_down.'],
];

function nameIn(names: readonly (readonly [RegExp, string])[], { tensor }: WeightSource): string {
  const theirs = typeof tensor === 'string' ? tensor : tensor[0]!;
  const [pattern, ours] = names.find(([candidate]) => candidate.test(theirs)) ?? [];
  return pattern ? theirs.replace(pattern, ours!) : theirs;
}

const isAffine = (step: object) => 'affine' in step;

/** Files have 1 added to Gemma's gains already. */
function llamaTable({ variables }: WeightTable, type: LlamaType): WeightTable {
  const isSandwich = type === 'gemma2' || type === 'gemma3_text';
  const afterAttention = isSandwich ? 'post_attention_norm' : 'ffn_norm';
  const names = [
    ...llamaNames,
    [/^model\.layers\.(\d+)\.post_attention_layernorm\./, `blk.$1.${afterAttention}.`] as const,
  ];
  const sources = Object.entries(variables).map(([name, source]) => [
    name,
    { ...source, tensor: nameIn(names, source), steps: source.steps?.filter((step) => !isAffine(step)) },
  ]);
  return { variables: Object.fromEntries(sources), ignored: ['rope_freqs.weight'] };
}

/** Matrices are [out, in] here, and not as in Hugging Face's files of GPT-2. */
function gpt2Table({ variables }: WeightTable): WeightTable {
  const isMatrix = (name: string) => name.endsWith('/kernel') && name !== 'head/kernel';
  const sources = Object.entries(variables).map(([name, source]) => {
    const steps = isMatrix(name) ? [transposed, ...(source.steps ?? [])] : source.steps;
    return [name, { tensor: nameIn(gpt2Names, source), steps }];
  });
  return { variables: Object.fromEntries(sources) };
}
