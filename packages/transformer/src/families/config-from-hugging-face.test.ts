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

describe('configFromHuggingFace', () => {
  it.each<[object, RegExp]>([
    [{ model_type: 'mamba' }, /model_type must be one of llama, mistral/],
    [{ model_type: 'constructor' }, /model_type must be one of/],
    [{ clip_qkv: 8 }, /known options only: none is ignored\n +unknown +\[clip_qkv\]/],
    [{ quantization_config: { bits: 4 } }, /unknown +\[quantization_config\]/],
    [{ hidden_act: 'mish' }, /hidden_act must be one of relu/],
    [{ hidden_size: null }, /hidden_size must be a number/],
    [{ rope_scaling: { rope_type: 'mrope', factor: 2 } }, /rope_type must be one of default, linear/],
    [
      { rope_scaling: { rope_type: 'linear', factor: 2, offset: 1 } },
      /rope_scaling of type linear must hold known options only/,
    ],
    [{ pretraining_tp: 2 }, /pretraining_tp must be 1/],
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

  it('says what differs from the checkpoint of another model', async () => {
    const { config, weights } = configFromHuggingFace({ ...llama, num_hidden_layers: 2 });
    const model = fromConfig<Decoder>(config, kinds);
    const checkpoint = await readSafetensors(fileOf('llama', 'model.safetensors'));
    await expect(loadWeights(model, checkpoint, weights)).rejects.toThrow(/model\.layers\.2\./);
    model.dispose();
  });
});
