// Plans of real configs, by what their families' code is known to do.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { planModel } from './plan-model';

interface Expected {
  readonly attentionLayers: number;
  readonly cached?: unknown;
  readonly cacheBytesPerToken?: number;
  readonly selfCacheBytesPerToken?: number;
  readonly crossCacheBytesPerSourceToken?: number;
  readonly attentionParametersPerLayer?: number;
  readonly attentionParametersInAll?: number;
  readonly context?: number;
}

const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`../fixtures/plan-configs/${name}.json`, import.meta.url), 'utf8'));
const { _, ...known } = read('expected') as { readonly [name: string]: Expected };

const certain = { attentionLayers: [], parameters: [], cache: [] };

describe('the config of', () => {
  it.each(Object.entries(known))('%s', (name, expected) => {
    const plan = planModel(read(name));
    const bytes = expected.cacheBytesPerToken ?? expected.selfCacheBytesPerToken;
    const crossBytes = expected.crossCacheBytesPerSourceToken;
    const [first] = plan.layers;
    expect(plan.attentionLayers).toBe(expected.attentionLayers);
    if (expected.cached === false) expect(plan.cache).toBeNull();
    if (bytes) expect(plan.cache?.bytesPerToken.float16).toBe(bytes);
    expect(plan.cache?.crossBytesPerSourceToken?.float16).toBe(crossBytes);
    if (expected.attentionParametersPerLayer)
      expect(first!.parameters).toBe(expected.attentionParametersPerLayer);
    if (expected.attentionParametersInAll)
      expect(plan.parameters.attention).toBe(expected.attentionParametersInAll);
    if (expected.context) expect(plan.context).toBe(expected.context);
    expect(plan.unsure).toEqual(certain);
  });
});

describe('what a config may say', () => {
  const llama = { model_type: 'llama', hidden_size: 64, num_attention_heads: 8, num_hidden_layers: 4 };

  it.each([
    [
      'letters for layers',
      { ...llama, model_type: 'nemotron_h', num_hidden_layers: 6, hybrid_override_pattern: 'M-M*-*' },
      2,
    ],
    ['numbers for kinds', { ...llama, model_type: 'minimax', attn_type_list: [0, 0, 1, 0] }, 1],
    ['a pattern that repeats', { ...llama, block_types: ['recurrent', 'attention'] }, 2],
    ['numbers from 1', { ...llama, linear_attn_config: { full_attn_layers: [1, 4], kda_layers: [2, 3] } }, 2],
    ['a list of layers', { ...llama, attn_layer_indices: [3] }, 1],
    ['pairs of a pattern and a count', { ...llama, attention_types: [[['global', 'local'], 2]] }, 4],
    [
      'blocks without attention',
      { ...llama, block_configs: [{ attention: { no_op: true } }, {}, {}, { attention: {} }] },
      3,
    ],
  ])('%s', (_, config, layers) => {
    const plan = planModel(config);
    expect(plan.attentionLayers).toBe(layers);
    expect(plan.cache?.bytesPerToken.float32).toBe(layers * 2 * 64 * 4);
  });

  it('heads of layers one by one, and by kinds of layers', () => {
    const heads = (config: object) =>
      planModel({ ...llama, ...config }).layers.map(({ numKeyValueHeads: n, headDim }) => [n, headDim]);
    expect(heads({ num_key_value_heads: [8, 4, 2, 1] })).toEqual([
      [8, 8],
      [4, 8],
      [2, 8],
      [1, 8],
    ]);
    const kinds = ['sliding_attention', 'full_attention', 'sliding_attention', 'full_attention'];
    const byKind = { layer_types: kinds, sliding_window: 16, num_key_value_heads: 4 };
    expect(heads({ ...byKind, global_head_dim: 16, num_global_key_value_heads: 2 })).toEqual([
      [4, 8],
      [2, 16],
      [4, 8],
      [2, 16],
    ]);
    expect(heads({ ...byKind, swa_num_key_value_heads: 8, swa_head_dim: 4 })[0]).toEqual([8, 4]);
    const grouped = Array.from({ length: 4 }, () => ({ attention: { n_heads_in_group: 4 } }));
    expect(heads({ block_configs: grouped })[0]).toEqual([2, 8]);
  });

  it('one group of variables for all layers, cached keys and values for some', () => {
    const all = planModel(llama);
    expect(planModel({ ...llama, num_hidden_groups: 1 }).parameters.attention).toBe(
      all.parameters.attention / 4,
    );
    const shared = planModel({ ...llama, num_kv_shared_layers: 3 });
    expect(shared.cache!.bytesPerToken.float16).toBe(all.cache!.bytesPerToken.float16 / 4);
    expect(planModel({ ...llama, num_kv_shared_layers: 0 })).toEqual(all);
    expect(shared.notes.join()).toContain('3 of 4 layers read the keys and values of another');
  });

  it('biases, gates and sinks, as the family has them', () => {
    const [E, D] = [64, 8];
    const matrices = 4 * E * E;
    const per = (config: object) =>
      planModel({ ...llama, num_hidden_layers: 1, ...config }).parameters.attention;
    expect(per({})).toBe(matrices);
    expect(per({ attention_bias: true })).toBe(matrices + 4 * E);
    expect(per({ model_type: 'qwen2' })).toBe(matrices + 3 * E);
    expect(per({ model_type: 'whisper', decoder_layers: 1, is_encoder_decoder: true })).toBe(
      3 * (matrices + 3 * E),
    );
    expect(per({ model_type: 'qwen3_next', head_dim: D })).toBe(matrices + E * E);
    expect(per({ model_type: 'gpt_oss', head_dim: D })).toBe(matrices + 8);
    expect(per({ model_type: 'gpt2' })).toBe(matrices + 4 * E);
  });

  it('latent heads, whose queries may have a latent of their own', () => {
    const latent = { kv_lora_rank: 16, qk_rope_head_dim: 4, qk_nope_head_dim: 8, v_head_dim: 6 };
    const plan = (more: object) => planModel({ ...llama, model_type: 'deepseek_v3', ...latent, ...more });
    const [H, E] = [8, 64];
    const rest = E * (16 + 4) + 16 * H * (8 + 6) + H * 6 * E;
    expect(plan({}).layers[0]!.parameters).toBe(E * H * 12 + rest);
    expect(plan({ q_lora_rank: 24 }).layers[0]!.parameters).toBe(E * 24 + 24 * H * 12 + rest);
    expect(plan({}).cache!.bytesPerToken).toEqual({ float32: 320, float16: 160, int8: 80, int4: 40 });
  });

  it('windows, which are named', () => {
    const windows = (config: object) => planModel({ ...llama, ...config }).layers.map(({ window }) => window);
    expect(windows({ sliding_window: 9, sliding_window_pattern: 2 })).toEqual([9, undefined, 9, undefined]);
    expect(windows({ sliding_window: 9, sliding_window_pattern: 'LLLG' })).toEqual([9, 9, 9, undefined]);
    expect(windows({ sliding_window: 9, sliding_window_pattern: '' })).toEqual([9, 9, 9, 9]);
    expect(windows({ model_type: 'qwen2', sliding_window: 9 })[0]).toBeUndefined();
    const late = { model_type: 'qwen2', sliding_window: 9, use_sliding_window: true, max_window_layers: 3 };
    expect(windows(late)).toEqual([undefined, undefined, undefined, 9]);
    expect(planModel({ ...llama, sliding_window: 9 }).notes.join()).toContain('a window of 9 tokens');
    const ofClass = { model_type: 'gpt_oss', head_dim: 8 };
    expect(windows(ofClass)).toEqual([128, undefined, 128, undefined]);
    expect(windows({ ...ofClass, sliding_window: null })).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('null, where a class would take a number of its own', () => {
    const heads = (config: object) => planModel({ ...llama, model_type: 'jamba', ...config }).layers[0];
    expect(heads({})).toMatchObject({ numKeyValueHeads: 8 });
    const wide = { hidden_size: 128, num_attention_heads: 16 };
    expect(heads(wide)).toMatchObject({ numKeyValueHeads: 8 });
    expect(heads({ ...wide, num_key_value_heads: null })).toMatchObject({ numKeyValueHeads: 16 });
  });

  it('a decoder that sees a text both ways keeps nothing', () => {
    expect(planModel(llama).cache).not.toBeNull();
    expect(planModel({ ...llama, is_causal: false }).cache).toBeNull();
    expect(planModel({ ...llama, use_bidirectional_attention: true }).cache).toBeNull();
    expect(planModel({ ...llama, use_bidirectional_attention: 'vision' }).cache).not.toBeNull(); // images alone
  });

  it('two models put together: the decoder attends to the encoder too', () => {
    const encoder = { model_type: 'vit', hidden_size: 32, num_attention_heads: 4, num_hidden_layers: 2 };
    const decoder = { model_type: 'gpt2', n_embd: 64, n_head: 8, n_layer: 3 };
    const { layers, cache, notes } = planModel({ model_type: 'vision-encoder-decoder', encoder, decoder });
    expect(notes).toEqual([]);
    expect(layers.map(({ part, cross }) => `${part}${cross ? ', cross' : ''}`)).toEqual([
      ...['encoder', 'encoder', 'decoder', 'decoder', 'decoder'],
      ...['decoder, cross', 'decoder, cross', 'decoder, cross'],
    ]);
    expect(layers.at(-1)!.parameters).toBe(4 * 64 * 64 + 4 * 64); // another layer brings the encoder's width to the decoder's
    const wide = { ...decoder, cross_attention_hidden_size: 32 };
    const asWide = planModel({ model_type: 'vision-encoder-decoder', encoder, decoder: wide });
    expect(asWide.layers.at(-1)!.parameters).toBe(2 * 64 * 64 + 2 * 32 * 64 + 4 * 64);
    expect(cache!.crossBytesPerSourceToken).toEqual(cache!.bytesPerToken);
  });
});
