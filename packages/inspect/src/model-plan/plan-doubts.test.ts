// What a config says and nobody understands is named with the number it touches, and what cannot be is refused.
import { readdirSync, readFileSync } from 'node:fs';
import { isAttentionError } from '@polyhead/core';
import { describe, expect, it } from 'vitest';
import { isObject } from './config-reader';
import { planModel } from './plan-model';

const certain = { attentionLayers: [], parameters: [], cache: [] };

describe('what is not understood is named, and the number it touches', () => {
  const llama = { model_type: 'llama', hidden_size: 64, num_attention_heads: 8, num_hidden_layers: 4 };

  it.each([
    [{ index_head_dim: 128 }, 'cache', 'index_head_dim'],
    [{ attention_window: [4, 4] }, 'cache', 'attention_window'],
    [{ use_head_gate: true }, 'parameters', 'use_head_gate'],
    [{ attention_bias: 'yes' }, 'parameters', 'attention_bias'],
    [{ sliding_window: [4, null, 4, null] }, 'cache', 'sliding_window'],
    [{ head_dim: [8, 8, 8, 8] }, 'cache', 'head_dim'],
    [{ attention_type: 'block_sparse' }, 'cache', 'attention_type'],
    [{ compress_ratio: 4 }, 'cache', 'compress_ratio'],
    [{ layer_types: Array(4).fill(['full_attention']) }, 'attentionLayers', '(object)'],
    [{ full_attn_idxs: [0, 4] }, 'attentionLayers', 'layer 4 of 4'],
    [{ total_ut_steps: 4 }, 'cache', 'total_ut_steps'],
    [{ num_kv_groups: '2' }, 'cache', 'num_kv_groups'],
    [{ is_encoder_decoder: 'yes' }, 'attentionLayers', 'is_encoder_decoder'],
    [{ is_encoder_decoder: 'yes' }, 'cache', 'is_encoder_decoder'],
    [{ num_key_value_heads: [8, 8, 8, 8, 8] }, 'cache', '5 numbers of heads for 4 layers'],
    [{ use_bidirectional_attention: 'text' }, 'cache', 'use_bidirectional_attention'],
    [{ sliding_window: 4, sliding_window_pattern: 'LXG' }, 'cache', 'sliding_window_pattern'],
    [{ linear_attn_config: { kda_layers: [1] } }, 'parameters', 'linear_attn_config'],
    [{ attn_config: ['grouped'] }, 'parameters', 'attn_config'],
    [{ index_topk: 2048 }, 'cache', 'index_topk'],
    [{ moba_block: 64 }, 'cache', 'moba_block'],
    [{ repeat_layers: 2 }, 'cache', 'repeat_layers'],
    [{ swa_layers: [1] }, 'cache', 'swa_layers'],
    [{ gqa_groups: 2 }, 'cache', 'gqa_groups'],
    [{ num_attention_experts: 4 }, 'parameters', 'num_attention_experts'],
    [{ layer_types: ['full_attention', 'delta', 'full_attention', 'mamba'] }, 'attentionLayers', 'delta'],
    [{ model_type: 'tomorrow' }, 'parameters', 'tomorrow'],
  ] as const)('%o', (config, number, word) => {
    expect(planModel({ ...llama, ...config }).unsure[number].join()).toContain(word);
  });

  it('other parts of a model are named, and not counted', () => {
    const vision = { hidden_size: 32, num_attention_heads: 4, num_hidden_layers: 2 };
    const plan = planModel({ model_type: 'llava', text_config: llama, vision_config: vision });
    expect(plan.attentionLayers).toBe(4);
    expect(plan.notes.join()).toContain('vision_config is another part');
    const deeper = { thinker_config: { model_type: 'thinker', text_config: llama, vision_config: vision } };
    expect(planModel(deeper).notes).toEqual([
      'its vision_config is another part of the model, and is not counted',
    ]);
  });

  it('fewer kinds than layers, or more', () => {
    const kinds = (times: number) =>
      planModel({ ...llama, attention_types: [[['global', 'local'], times]] }).unsure.attentionLayers;
    expect(kinds(2)).toEqual([]);
    expect(kinds(1)).toEqual(['2 kinds for 4 layers']);
    expect(kinds(1e12)).toEqual(['5 kinds for 4 layers']);
    expect(kinds(-1)).toEqual(['0 kinds for 4 layers']);
  });

  it('keys without a bearing on attention are passed over', () => {
    const others = {
      ...{ vocab_size: 9, rope_theta: 1e4, attention_dropout: 0.1, mlp_bias: true, num_experts: 8 },
      ...{ attention_bias: 0, attn_implementation: 'sdpa', attention_mode: 'flash_attention_2' },
    };
    expect(planModel({ ...llama, ...others, sliding_window: null }).unsure).toEqual(certain);
  });
});

describe('refuses', () => {
  const small = { hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 8 };
  const within = (depth: number, config: object): object =>
    depth === 0 ? config : { text_config: within(depth - 1, config) };

  it.each([
    [{}, /must have .*num_hidden_layers/],
    [{ hidden_size: 64, num_hidden_layers: 2 }, /must have .*num_attention_heads/],
    [{ hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 7 }, /heads must divide the width/],
    [{ hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 8, num_key_value_heads: 3 }, /divide/],
    [{ hidden_size: -1, num_hidden_layers: 2, num_attention_heads: 8 }, /hidden_size must be a whole number/],
    [{ hidden_size: 1e300, num_hidden_layers: 2, num_attention_heads: 8 }, /hidden_size must be a whole/],
    [{ hidden_size: 64, num_hidden_layers: 2 ** 20, num_attention_heads: 8 }, /layers must be .* to 4096/],
    [{ ...small, layer_types: 'full' }, /layer_types must be a list/],
    [{ ...small, model_type: 'llama', hidden_size: [64, 64] }, /hidden_size must be a whole number/],
    [{ ...small, num_key_value_heads: [-1, 2] }, /num_key_value_heads must be a list of whole numbers/],
    [{ ...small, attn_layer_period: 2, attn_layer_offset: 'x' }, /attn_layer_offset must be a whole number/],
    [
      { ...small, num_attention_heads: [8], kv_lora_rank: 4, qk_nope_head_dim: 4, v_head_dim: 4 },
      /lists of heads must have a number for each layer/,
    ],
    [{ ...small, num_key_value_heads: [8] }, /lists of heads must have a number for each layer/],
    [{ ...small, block_configs: [1] }, /block_configs must hold an object with attention for each block/],
    [within(9, small), /must hold its text's within 8 others/],
    [null, /must be the object of a config.json/],
    [[1], /must be the object of a config.json/],
  ])('%o', (config, message) => {
    let error: unknown;
    try {
      planModel(config);
    } catch (thrown) {
      error = thrown;
    }
    expect(isAttentionError(error)).toBe(true);
    expect((error as Error).message).toMatch(message);
  });
});

describe('a value of another type than it should have', () => {
  const folder = new URL('../fixtures/plan-configs/', import.meta.url);
  const files = readdirSync(folder).filter((file) => file !== 'expected.json');

  it.each(files)('%s: is refused or named, where it matters', (file) => {
    const config = JSON.parse(readFileSync(new URL(file, folder), 'utf8'));
    const right = outcomeOf(config);
    for (const [name, value, set] of valuesOf(config)) {
      set(undefined);
      const without = outcomeOf(config);
      for (const other of ['x', '12', [['a']], { a: 1 }, Infinity, -1]) {
        if (typeof other === typeof value && Array.isArray(other) === Array.isArray(value)) continue;
        set(other);
        const outcome = outcomeOf(config);
        const matters = without.numbers !== right.numbers;
        if (matters) expect([name, other, outcome.doubts]).not.toEqual([name, other, '']);
        expect([name, other, outcome.numbers]).not.toEqual([name, other, expect.stringContaining('null')]);
      }
      set(value);
    }
  });
});

type Value = readonly [name: string, value: unknown, set: (value: unknown) => void];

/** Of an object and those within. */
function valuesOf(object: Record<string, unknown>): Value[] {
  return Object.entries(object).flatMap(([name, value]) => [
    [name, value, (other) => (object[name] = other)] as Value,
    ...(isObject(value) ? valuesOf(value as Record<string, unknown>) : []),
  ]);
}

/** Its numbers, as text that has null for what is none, and what is named or refused. */
function outcomeOf(config: object): { readonly numbers: string; readonly doubts: string } {
  try {
    const { attentionLayers, parameters, cache, unsure } = planModel(config);
    const numbers = [attentionLayers, parameters, cache?.bytesPerToken ?? 'none'];
    return { numbers: JSON.stringify(numbers), doubts: Object.values(unsure).flat().join() };
  } catch (error) {
    if (!isAttentionError(error)) throw error;
    return { numbers: 'refused', doubts: error.message };
  }
}
