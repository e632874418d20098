// GGUF's names and orders: the tiny models of Hugging Face, written down as llama.cpp writes them, give the same logits.
import { fromConfig } from '@polyhead/core';
import { type Checkpoint, loadWeights, readSafetensors } from '@polyhead/weights';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import {
  configOf,
  type ExpectedDecoder,
  expectedOf,
  fileOf,
  kinds,
  largestError,
} from '../fixtures/hugging-face-models';
import { configFromGguf, type Decoder } from '../index';

type Numbers = { readonly shape: readonly number[]; readonly numbers: Float32Array };

/** Names of llama.cpp, by parts of Hugging Face's. */
const names: readonly (readonly [string | RegExp, string])[] = [
  ['model.embed_tokens', 'token_embd'],
  ['model.norm', 'output_norm'],
  ['lm_head', 'output'],
  ['model.layers', 'blk'],
  ['self_attn.o_proj', 'attn_output'],
  [/self_attn\.(q|k|v)_proj/, 'attn_$1'],
  [/self_attn\.(q|k)_norm/, 'attn_$1_norm'],
  [/mlp\.(gate|up|down)_proj/, 'ffn_$1'],
  ['input_layernorm', 'attn_norm'],
  ['pre_feedforward_layernorm', 'ffn_norm'],
  ['post_feedforward_layernorm', 'post_ffw_norm'],
  ['transformer.wte', 'token_embd'],
  ['transformer.wpe', 'position_embd'],
  ['transformer.ln_f', 'output_norm'],
  ['transformer.h', 'blk'],
  ['attn.c_attn', 'attn_qkv'],
  ['attn.c_proj', 'attn_output'],
  ['mlp.c_fc', 'ffn_up'],
  ['mlp.c_proj', 'ffn_down'],
  ['ln_1', 'attn_norm'],
  ['ln_2', 'ffn_norm'],
];

/** Half-split pairs of each head, [H, 2, D / 2, E], side by side. */
function interleaved({ shape, numbers }: Numbers, heads: number): Numbers {
  const [rows, columns] = shape as [number, number];
  const half = rows / heads / 2;
  const moved = tf.tidy(() =>
    tf.transpose(tf.tensor4d(numbers, [heads, 2, half, columns]), [0, 2, 1, 3]).dataSync(),
  );
  return { shape, numbers: moved as Float32Array };
}

const transposed = ({ shape, numbers }: Numbers): Numbers => ({
  shape: [...shape].reverse(),
  numbers: tf.tidy(() =>
    tf.transpose(tf.tensor2d(numbers, shape as [number, number])).dataSync(),
  ) as Float32Array,
});

/** The model as llama.cpp's converter writes it. */
async function ggufOf(name: string, architecture: string): Promise<Checkpoint> {
  const file = await readSafetensors(fileOf(name, 'model.safetensors'));
  const config = configOf(name) as Record<string, number>;
  const tensors = new Map<string, Numbers>();
  const isSandwich = architecture.startsWith('gemma');
  for (const [theirs, { shape }] of file.tensors) {
    const read = { shape, numbers: await file.read(theirs) };
    const after = isSandwich ? 'post_attention_norm' : 'ffn_norm';
    const ours = [...names, ['post_attention_layernorm', after] as const].reduce(
      (text, [from, to]) => text.replace(from, to),
      theirs,
    );
    const isNorm = theirs.endsWith('norm.weight');
    if (architecture === 'llama' && /[qk]_proj/.test(theirs))
      tensors.set(
        ours,
        interleaved(
          read,
          theirs.includes('q_proj') ? config.num_attention_heads! : config.num_key_value_heads!,
        ),
      );
    else if (isSandwich && isNorm) tensors.set(ours, { shape, numbers: read.numbers.map((x) => x + 1) });
    else if (architecture === 'gpt2' && /\.c_\w+\.weight$/.test(theirs)) tensors.set(ours, transposed(read));
    else tensors.set(ours, read);
  }
  const facts = [...tensors].map(
    ([key, { shape, numbers }]) => [key, { shape, type: 'F32', byteLength: numbers.byteLength }] as const,
  );
  return {
    format: 'gguf',
    metadata: metadataOf(config, architecture),
    tensors: new Map(facts),
    read: async (key) => tensors.get(key)!.numbers.slice(),
    readBytes: () => Promise.reject(new Error('not needed')),
  };
}

/** Where windows repeat: of a full layer the number, counted from 1, which the samples have in their first period. */
const patternOf = ({ layer_types: types }: { readonly layer_types?: readonly string[] }) =>
  types && types.indexOf('full_attention') + 1;

function metadataOf(config: Record<string, number>, architecture: string): ReadonlyMap<string, unknown> {
  const scaling = config.rope_scaling as unknown as { rope_type: string; factor: number } | undefined;
  const heads = config.num_attention_heads ?? config.n_head;
  const known: Record<string, unknown> = {
    block_count: config.num_hidden_layers ?? config.n_layer,
    context_length: config.max_position_embeddings ?? config.n_positions,
    embedding_length: config.hidden_size ?? config.n_embd,
    feed_forward_length: config.intermediate_size ?? 4 * config.n_embd!,
    'attention.head_count': heads,
    'attention.head_count_kv': config.num_key_value_heads,
    'attention.key_length': config.head_dim,
    'attention.value_length': config.head_dim,
    'attention.layer_norm_rms_epsilon': config.rms_norm_eps,
    'attention.layer_norm_epsilon': config.layer_norm_epsilon,
    'attention.sliding_window': architecture.startsWith('gemma') ? config.sliding_window : undefined,
    'attention.sliding_window_pattern': architecture === 'gemma3' ? patternOf(config as object) : undefined,
    'rope.freq_base_swa': config.rope_local_base_freq,
    'rope.scaling.type': architecture === 'gemma3' ? scaling?.rope_type : undefined,
    'rope.scaling.factor': architecture === 'gemma3' ? scaling?.factor : undefined,
    'rope.freq_base': config.rope_theta,
    'rope.dimension_count': config.rope_theta ? (config.head_dim ?? config.hidden_size! / heads!) : undefined,
    attn_logit_softcapping: config.attn_logit_softcapping,
    final_logit_softcapping: config.final_logit_softcapping,
  };
  const entries = Object.entries(known).filter(([, value]) => value !== undefined && value !== null);
  return new Map<string, unknown>([
    ['general.architecture', architecture],
    ['tokenizer.ggml.tokens', Array.from({ length: 61 }, (_, n) => `${n}`)],
    ...entries.map(([key, value]) => [`${architecture}.${key}`, value] as const),
  ]);
}

async function load(name: string, architecture: string, ropeFactors?: readonly number[]) {
  const checkpoint = await ggufOf(name, architecture);
  const { config, weights } = configFromGguf(checkpoint.metadata, checkpoint.tensors, { ropeFactors });
  const model = fromConfig<Decoder>(config, kinds);
  await loadWeights(model, checkpoint, weights);
  return model;
}

describe('configFromGguf', () => {
  it.each([
    ['llama', 'llama'],
    ['qwen2', 'qwen2'],
    ['qwen3', 'qwen3'],
    ['gpt2', 'gpt2'],
  ])('%s gives the logits of transformers', async (name, architecture) => {
    const model = await load(name, architecture);
    const { ids, logits } = expectedOf<ExpectedDecoder>(name);
    const numbers = model.apply(tf.tensor2d(ids, undefined, 'int32')).logits.dataSync();
    expect(largestError(numbers, logits.flat())).toBeLessThan(2e-5);
    model.dispose();
  });

  it('divides frequencies by the factors of the file, as Llama 3.1 does', async () => {
    // What the formula of Llama 3.1 gives for base 500,000, D = 6, factor 8 and an original length of 16.
    const factors = [0, 1, 2].map((pair) => {
      const wavelength = 2 * Math.PI * 500_000 ** ((2 * pair) / 6);
      if (wavelength < 16 / 4) return 1;
      if (wavelength > 16) return 8;
      const smooth = (16 / wavelength - 1) / 3;
      return 1 / ((1 - smooth) / 8 + smooth);
    });
    const model = await load('llama31-tied', 'llama', factors);
    const { ids, logits } = expectedOf<ExpectedDecoder>('llama31-tied');
    const numbers = model.apply(tf.tensor2d(ids, undefined, 'int32')).logits.dataSync();
    expect(largestError(numbers, logits.flat())).toBeLessThan(2e-5);
    model.dispose();
  });

  it.each(['gemma2', 'gemma3'])('reads %s, whose gains have 1 added, but for its scale', async (name) => {
    const checkpoint = await ggufOf(name, name);
    const { config, weights } = configFromGguf(checkpoint.metadata, checkpoint.tensors);
    // The sample's scale is no published model's: those divide by sqrt(D), and files do not say it.
    const text = JSON.stringify(config).replaceAll(`"scale":${8 ** -0.5}`, `"scale":${10 ** -0.5}`);
    const model = fromConfig<Decoder>(JSON.parse(text), kinds);
    await loadWeights(model, checkpoint, weights);
    const { ids, logits } = expectedOf<ExpectedDecoder>(name);
    const numbers = model.apply(tf.tensor2d(ids, undefined, 'int32')).logits.dataSync();
    expect(largestError(numbers, logits.flat())).toBeLessThan(2e-5);
    model.dispose();
  });

  it('refuses what it does not know', async () => {
    const { metadata, tensors } = await ggufOf('llama', 'llama');
    const read = (own: readonly (readonly [string, unknown])[]) => () =>
      configFromGguf(new Map([...metadata, ...own]), tensors);
    expect(read([['general.architecture', 'rwkv6']])).toThrow(
      /general.architecture must be one of llama, qwen2/,
    );
    expect(read([['llama.expert_count', 8]])).toThrow(/unknown +\[llama.expert_count\]/);
    expect(read([['llama.rope.scaling.type', 'spiral']])).toThrow(/rope_type must be one of/);
    const scaled = new Map<string, unknown>([...tensors, ['rope_freqs.weight', {}]]);
    expect(() => configFromGguf(metadata, scaled)).toThrow(/pass its numbers as the option ropeFactors/);
  });
});
