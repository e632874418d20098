// What configs of Hugging Face are refused for, and what they may say.
import { fromConfig } from '@polyhead/core';
import { loadWeights, readSafetensors } from '@polyhead/weights';
import { describe, expect, it } from 'vitest';
import { configOf, fileOf, kinds } from '../fixtures/hugging-face-models';
import { configFromHuggingFace, type Decoder } from '../index';

const llama = configOf('llama');
const read =
  (own: object, name = 'llama') =>
  () =>
    configFromHuggingFace({ ...configOf(name), ...own });

/** What a path through JSON leads to. */
function at(json: object, ...path: (string | number)[]): unknown {
  return path.reduce((part: unknown, key) => (part as Record<string | number, unknown>)[key], json);
}

/** Configs of models on Hugging Face, without what is the same for all. */
const published = [
  // SmolLM2-135M-Instruct
  {
    model_type: 'llama',
    architectures: ['LlamaForCausalLM'],
    attention_bias: false,
    attention_dropout: 0,
    bos_token_id: 1,
    eos_token_id: 2,
    hidden_act: 'silu',
    hidden_size: 576,
    initializer_range: 0.041666666666666664,
    intermediate_size: 1536,
    is_llama_config: true,
    max_position_embeddings: 8192,
    mlp_bias: false,
    num_attention_heads: 9,
    num_hidden_layers: 30,
    num_key_value_heads: 3,
    pad_token_id: 2,
    pretraining_tp: 1,
    rms_norm_eps: 1e-5,
    rope_interleaved: false,
    rope_scaling: null,
    rope_theta: 100_000,
    tie_word_embeddings: true,
    torch_dtype: 'bfloat16',
    'transformers.js_config': { kv_cache_dtype: { q4f16: 'float16' } },
    transformers_version: '4.42.3',
    use_cache: true,
    vocab_size: 49_152,
  },
  // gpt2
  {
    model_type: 'gpt2',
    activation_function: 'gelu_new',
    attn_pdrop: 0.1,
    embd_pdrop: 0.1,
    layer_norm_epsilon: 1e-5,
    n_ctx: 1024,
    n_embd: 768,
    n_head: 12,
    n_layer: 12,
    n_positions: 1024,
    resid_pdrop: 0.1,
    summary_activation: null,
    summary_first_dropout: 0.1,
    summary_proj_to_labels: true,
    summary_type: 'cls_index',
    summary_use_proj: true,
    task_specific_params: { 'text-generation': { do_sample: true, max_length: 50 } },
    vocab_size: 50_257,
  },
  // t5-small
  {
    model_type: 't5',
    d_ff: 2048,
    d_kv: 64,
    d_model: 512,
    decoder_start_token_id: 0,
    dropout_rate: 0.1,
    initializer_factor: 1,
    is_encoder_decoder: true,
    layer_norm_epsilon: 1e-6,
    n_positions: 512,
    num_heads: 8,
    num_layers: 6,
    output_past: true,
    relative_attention_num_buckets: 32,
    task_specific_params: { summarization: { num_beams: 4 } },
    vocab_size: 32_128,
  },
  // opus-mt-en-de
  {
    model_type: 'marian',
    _num_labels: 3,
    activation_dropout: 0,
    activation_function: 'swish',
    add_bias_logits: false,
    add_final_layer_norm: false,
    attention_dropout: 0,
    bad_words_ids: [[58_100]],
    classif_dropout: 0,
    d_model: 512,
    decoder_attention_heads: 8,
    decoder_ffn_dim: 2048,
    decoder_layerdrop: 0,
    decoder_layers: 6,
    decoder_start_token_id: 58_100,
    decoder_vocab_size: 58_101,
    dropout: 0.1,
    encoder_attention_heads: 8,
    encoder_ffn_dim: 2048,
    encoder_layerdrop: 0,
    encoder_layers: 6,
    forced_eos_token_id: 0,
    init_std: 0.02,
    is_encoder_decoder: true,
    max_length: 512,
    max_position_embeddings: 512,
    normalize_before: false,
    normalize_embedding: false,
    num_beams: 4,
    num_hidden_layers: 6,
    scale_embedding: true,
    share_encoder_decoder_embeddings: true,
    static_position_embeddings: true,
    vocab_size: 58_101,
  },
  // deberta-v3-base
  {
    model_type: 'deberta-v2',
    attention_probs_dropout_prob: 0.1,
    hidden_act: 'gelu',
    hidden_dropout_prob: 0.1,
    hidden_size: 768,
    intermediate_size: 3072,
    max_position_embeddings: 512,
    relative_attention: true,
    position_buckets: 256,
    norm_rel_ebd: 'layer_norm',
    share_att_key: true,
    pos_att_type: 'p2c|c2p',
    layer_norm_eps: 1e-7,
    max_relative_positions: -1,
    position_biased_input: false,
    num_attention_heads: 12,
    num_hidden_layers: 12,
    type_vocab_size: 0,
    vocab_size: 128_100,
  },
];

describe('configFromHuggingFace', () => {
  it.each<[object, RegExp]>([
    [{ model_type: 'mamba' }, /model_type must be one of llama, mistral/],
    [{ model_type: 'constructor' }, /model_type must be one of/],
    [{ model_type: 'gemma3n_text' }, /model_type must be one of .*\n +model_type +gemma3n_text/],
    [{ num_kv_shared_layers: 1 }, /num_kv_shared_layers/],
    [{ clip_qkv: 8 }, /known options only: none is ignored\n +unknown +\[clip_qkv\]/],
    [{ quantization_config: { bits: 4 } }, /unknown +\[quantization_config\]/],
    [{ hidden_act: 'mish' }, /hidden_act must be one of relu/],
    [{ hidden_size: null }, /hidden_size must be a number/],
    [{ rope_scaling: { rope_type: 'mrope', factor: 2 } }, /rope_type must be one of default, linear/],
    [
      { rope_scaling: { rope_type: 'linear', factor: 2, offset: 1 } },
      /rope_scaling of type linear must hold known options only/,
    ],
    [{ layer_types: ['full_attention'] }, /layer_types must be a list with an entry for each layer/],
    [
      { layer_types: Array(3).fill('chunked_attention') },
      /layer_types must be full_attention or sliding_attention/,
    ],
  ])('refuses %j', (own, message) => {
    expect(read(own)).toThrow(message);
  });

  it.each<[string, object, RegExp]>([
    ['gpt2', { add_cross_attention: true }, /add_cross_attention must be false/],
    ['bert', { is_decoder: true }, /is_decoder must be false/],
    ['bert', { position_embedding_type: 'rotary' }, /position_embedding_type must be one of absolute/],
    ['deberta-v2', { conv_kernel_size: 3 }, /conv_kernel_size must be 0/],
    ['deberta-v2', { pos_att_type: ['p2p'] }, /pos_att_type must name c2p, p2c or both/],
    ['deberta-v2', { norm_rel_ebd: 'batch_norm' }, /norm_rel_ebd must be none or layer_norm/],
    ['t5', { feed_forward_proj: 'gated-mish' }, /feed_forward_proj must be one of relu/],
    ['t5', { is_encoder_decoder: false }, /is_encoder_decoder must be true/],
    ['marian', { normalize_before: true }, /normalize_before must be false/],
  ])('refuses %s with %j', (name, own, message) => {
    expect(read(own, name)).toThrow(message);
  });

  it('refuses what is no config', () => {
    for (const json of [undefined, null, [], 'llama'])
      expect(() => configFromHuggingFace(json)).toThrow(/must be an object/);
  });

  it('refuses sizes that cannot be where the model is made', () => {
    const { config } = configFromHuggingFace({ ...llama, num_key_value_heads: 3 });
    expect(() => fromConfig(config, kinds)).toThrow(/numHeads must be a multiple of numKeyValueHeads/);
  });

  it('takes keys that say nothing of the numbers', () => {
    const extra = {
      _name_or_path: 'x',
      'transformers.js_config': { dtype: 'q4' },
      use_cache: true,
      unknown_key: null,
    };
    expect(read(extra)()).toEqual(configFromHuggingFace(llama));
  });

  it.each(published)('reads that of a published model: $model_type', (config) => {
    expect(Object.keys(configFromHuggingFace(config).weights.variables).length).toBeGreaterThan(50);
  });

  it('reads rope_parameters as rope_theta and rope_scaling', () => {
    const { rope_theta: _, rope_scaling: __, ...rest } = configOf('llama31-tied') as Record<string, object>;
    const rope_parameters = { rope_theta: 500_000, ...__ };
    expect(configFromHuggingFace({ ...rest, rope_parameters })).toEqual(
      configFromHuggingFace(configOf('llama31-tied')),
    );
  });

  it.each<[string, object, (number | null)[] | undefined]>([
    ['mistral-window', {}, [5, 5, 5]],
    ['mistral-window', { sliding_window: null }, undefined],
    ['qwen2', { use_sliding_window: true, sliding_window: 4, max_window_layers: 1 }, [null, 4, 4]],
    ['qwen2', { use_sliding_window: false, sliding_window: 4, max_window_layers: 1 }, undefined],
    ['gemma2', {}, [4, null, 4, null]],
    [
      'qwen3',
      { sliding_window: 3, layer_types: ['full_attention', 'sliding_attention', 'full_attention'] },
      [null, 3, null],
    ],
  ])('%s with %j sees the windows %j', (name, own, windows) => {
    expect(at(read(own, name)().config, 'value', 'config', 'windows')).toEqual(windows);
  });

  it('leaves the norm of distances aside where there are none: files of DeBERTa hold it all the same', () => {
    const ignored = (own: object) => read(own, 'deberta-v2')().weights.ignored;
    expect(ignored({ relative_attention: false })).toContain('*encoder.LayerNorm.*');
    expect(ignored({})).not.toContain('*encoder.LayerNorm.*');
  });

  it('says what differs from the checkpoint of another model', async () => {
    const { config, weights } = configFromHuggingFace({ ...llama, num_hidden_layers: 2 });
    const model = fromConfig<Decoder>(config, kinds);
    const checkpoint = await readSafetensors(fileOf('llama', 'model.safetensors'));
    await expect(loadWeights(model, checkpoint, weights)).rejects.toThrow(/model\.layers\.2\./);
    model.dispose();
  });
});
