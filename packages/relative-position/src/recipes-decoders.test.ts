// Layers of published decoders as configs, against what transformers computes: prompt and token by token.
import {
  expectClose,
  fromLinears,
  type GoldenCase,
  golden,
  goldenCases,
  toHost,
  toTensor,
  toTensors,
} from '@polyhead/conformance';
import { allOf, causal, leftPadding, type Mask, slidingWindow, type TokenPositions } from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { GrowingCache } from '@polyhead/kv-cache';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import file from './fixtures/hugging-face-decoders.json';
import rotaryFile from './fixtures/hugging-face-rotary.json';
import { type RotaryScaling, rotary } from './index';

interface Sizes {
  readonly embedDim: number;
  readonly numHeads: number;
  readonly numKeyValueHeads: number;
  readonly headDim: number;
  readonly base: number;
}

/** Llama 2 (base 10000, as many key/value heads as heads up to 13B), Llama 3 (base 500000, and `scaling` from 3.1 on). */
function llama({ base, ...sizes }: Sizes & { readonly scaling?: RotaryScaling; readonly useBias?: boolean }) {
  const { scaling, ...config } = sizes;
  const position = rotary({ headDim: sizes.headDim, base, ...(scaling && { scaling }) });
  return { layer: new GroupedQueryAttention(config, { position }), mask: causal() };
}

/** Mistral: a token sees itself and the window - 1 before it. */
function mistral({ base, window, ...config }: Sizes & { readonly window: number }) {
  const position = rotary({ headDim: config.headDim, base });
  const mask = slidingWindow({ left: window - 1, right: 0 });
  return { layer: new GroupedQueryAttention(config, { position }), mask };
}

/** Qwen2: biases, that of the output projection zero. */
function qwen2({ base, ...config }: Sizes) {
  const position = rotary({ headDim: config.headDim, base });
  const useBias = ['query', 'key', 'value'] as const;
  return { layer: new GroupedQueryAttention({ ...config, useBias }, { position }), mask: causal() };
}

/** Qwen3: each head of queries and keys normalized before it is turned. */
function qwen3({ base, ...config }: Sizes) {
  const position = rotary({ headDim: config.headDim, base });
  const queryKeyNorm = { kind: 'rms', epsilon: 1e-6 } as const;
  return { layer: new GroupedQueryAttention({ ...config, queryKeyNorm }, { position }), mask: causal() };
}

/** Gemma 2: capped scores, and a scale of its own; every second layer has Mistral's mask. */
function gemma2({
  base,
  scale,
  softcap,
  ...config
}: Sizes & { readonly scale: number; readonly softcap: number }) {
  const position = rotary({ headDim: config.headDim, base });
  return { layer: new GroupedQueryAttention({ ...config, scale, softcap }, { position }), mask: causal() };
}

/** gpt-oss: a learned sink for each head, and biases; every second layer has Mistral's mask. Its `scaling` is YaRN. */
function gptOss({ base, ...sizes }: Sizes & { readonly scaling?: RotaryScaling }) {
  const { scaling, ...config } = sizes;
  const position = rotary({ headDim: sizes.headDim, base, ...(scaling && { scaling }) });
  const options = { ...config, useBias: true, learnedSinks: true };
  return { layer: new GroupedQueryAttention(options, { position }), mask: causal() };
}

/** GPT-J: the first numbers of each head are turned, as pairs (2i, 2i + 1). */
function gptJ({ embedDim, numHeads, rotaryDim }: { embedDim: number; numHeads: number; rotaryDim: number }) {
  const position = rotary({ headDim: embedDim / numHeads, rotaryDim, interleaved: true });
  return { layer: new MultiHeadAttention({ embedDim, numHeads }, { position }), mask: causal(), position };
}

interface DecoderParams {
  readonly hidden_size: number;
  readonly num_attention_heads: number;
  readonly num_key_value_heads: number;
  readonly head_dim: number;
  readonly rope_theta: number;
  readonly scaling: number;
  readonly attn_logit_softcapping?: number;
  readonly sliding_window: number | null;
  readonly prefill: number;
}

type DecoderCase = GoldenCase<DecoderParams>;

const cases = goldenCases<DecoderParams>(file);

function sizesOf({ params }: DecoderCase): Sizes {
  return {
    embedDim: params.hidden_size,
    numHeads: params.num_attention_heads,
    numKeyValueHeads: params.num_key_value_heads,
    headDim: params.head_dim,
    base: params.rope_theta,
  };
}

interface Recipe {
  readonly layer: GroupedQueryAttention;
  readonly mask: Mask;
}

const recipes: { readonly [name: string]: (goldenCase: DecoderCase) => Recipe } = {
  llama_gqa: (goldenCase) => llama(sizesOf(goldenCase)),
  llama_left_padded: (goldenCase) => {
    const { layer, mask } = llama({ ...sizesOf(goldenCase), useBias: true });
    return { layer, mask: allOf(mask, leftPadding([0, 2])) };
  },
  mistral_sliding_window_3: (goldenCase) =>
    mistral({ ...sizesOf(goldenCase), window: goldenCase.params.sliding_window! }),
  qwen2_bias: (goldenCase) => qwen2(sizesOf(goldenCase)),
  qwen3_qk_norm: (goldenCase) => qwen3(sizesOf(goldenCase)),
  gemma2_softcap: (goldenCase) => {
    const { scaling: scale, attn_logit_softcapping: softcap = 0 } = goldenCase.params;
    return gemma2({ ...sizesOf(goldenCase), scale, softcap });
  },
  gpt_oss_sinks_full: (goldenCase) => gptOss(sizesOf(goldenCase)),
};

function setWeights({ inputs }: DecoderCase, { layer }: Recipe): void {
  const linears = { query: 'q_proj', key: 'k_proj', value: 'v_proj', output: 'o_proj' };
  const others = { 'query/gain': 'q_norm.weight', 'key/gain': 'k_norm.weight', 'sinks/logits': 'sinks' };
  const named = Object.entries(others).flatMap(([name, source]) => {
    const tensor = inputs[source];
    return tensor ? [[name, toTensor(tensor)] as const] : [];
  });
  layer.setWeights({ ...toTensors(fromLinears(inputs, linears)), ...Object.fromEntries(named) });
}

/** The numbers of queries that are no padding; `queryOf` tells which query a number is of, counted over the batch. */
function validOnly(
  { inputs }: DecoderCase,
  numbers: Float64Array,
  queryOf: (n: number) => number,
): Float64Array {
  const valid = inputs.valid_rows?.data;
  return numbers.filter((_, n) => !valid || valid[queryOf(n)] === 1);
}

describe('a config gives what transformers gives', () => {
  it('has a recipe for every case', () => {
    expect(Object.keys(recipes).sort()).toEqual([...cases.keys()].sort());
  });

  it.each([...cases.values()])('$name: one pass', (goldenCase) => {
    const recipe = recipes[goldenCase.name]!(goldenCase);
    setWeights(goldenCase, recipe);
    const query = toTensor(golden(goldenCase.inputs, 'hidden_states')) as tf.Tensor3D;
    const positions = [{ each: Int32Array.from(golden(goldenCase.inputs, 'position_ids').data) }];
    const { output, weights } = recipe.layer.apply(
      { query },
      { mask: recipe.mask, positions, returns: ['weights'] },
    );
    const [, H, S] = weights!.shape;
    const ofOutput = (n: number) => Math.floor(n / query.shape[2]);
    const ofWeights = (n: number) => Math.floor(n / (H * S * S)) * S + (Math.floor(n / S) % S);
    const valid = (numbers: { readonly output: Float64Array; readonly weights: Float64Array }) => ({
      output: validOnly(goldenCase, numbers.output, ofOutput),
      weights: validOnly(goldenCase, numbers.weights, ofWeights),
    });
    expectClose({
      actual: valid({ output: toHost(output), weights: toHost(weights!) }),
      expected: valid({
        output: golden(goldenCase.outputs, 'out').data,
        weights: golden(goldenCase.outputs, 'attn_weights').data,
      }),
    });
    recipe.layer.dispose();
  });

  it.each([...cases.values()])(
    '$name: a prompt, then token by token, and what the cache holds',
    (goldenCase) => {
      const recipe = recipes[goldenCase.name]!(goldenCase);
      setWeights(goldenCase, recipe);
      const { layer, mask } = recipe;
      const all = toTensor(golden(goldenCase.inputs, 'hidden_states')) as tf.Tensor3D;
      const [B, S, E] = all.shape;
      const cache = new GrowingCache(layer.cacheShape(B));
      const chunks = [goldenCase.params.prefill, ...Array<number>(S - goldenCase.params.prefill).fill(1)];
      let at = 0;
      const outputs = chunks.map((size) => {
        const query = tf.slice(all, [0, at, 0], [B, size, E]);
        const call = at === 0 ? { positions: positionsOfPrompt(goldenCase) } : {}; // the cache counts on
        at += size;
        return layer.apply({ query }, { mask, cache, ...call }).output;
      });
      const ofOutput = (n: number) => Math.floor(n / E);
      expectClose({
        actual: { output: validOnly(goldenCase, toHost(tf.concat(outputs, 1)), ofOutput) },
        expected: { output: validOnly(goldenCase, golden(goldenCase.outputs, 'decode_out').data, ofOutput) },
      });
      const { key, value } = cache.read().materialize();
      // transformers keeps the last tokens only where there is a window.
      const kept = golden(goldenCase.outputs, 'cache_key').shape[2]!;
      const last = (x: tf.Tensor4D) => toHost(tf.slice(x, [0, 0, S - kept, 0], [-1, -1, kept, -1]));
      expectClose({
        actual: { key: last(key), value: last(value) },
        expected: {
          key: golden(goldenCase.outputs, 'cache_key').data,
          value: golden(goldenCase.outputs, 'cache_value').data,
        },
      });
      cache.dispose();
      layer.dispose();
    },
  );

  it('of GPT-J: its pairs', () => {
    const goldenCase = goldenCases<object>(rotaryFile).get('gptj_interleaved_partial')!;
    const { layer, position } = gptJ({ embedDim: 16, numHeads: 2, rotaryDim: 4 });
    const heads = tf.transpose(toTensor(golden(goldenCase.inputs, 'q')), [0, 2, 1, 3]) as tf.Tensor4D; // sequence-major there
    const each = Int32Array.from(golden(goldenCase.inputs, 'position_ids').data);
    const turned = position.rotate!(heads, 'query', [{ each }]);
    expectClose({
      actual: { turned: toHost(tf.transpose(turned, [0, 2, 1, 3])) },
      expected: { turned: golden(goldenCase.outputs, 'q_rot').data },
    });
    const { output } = layer.apply({ query: tf.ones([1, 3, 16]) }, { mask: causal() });
    expect(output.shape).toEqual([1, 3, 16]);
    layer.dispose();
  });
});

/** Where the tokens of the prompt stand, those of padding at 0. */
function positionsOfPrompt({ inputs, params }: DecoderCase): readonly TokenPositions[] {
  const { data, shape } = golden(inputs, 'position_ids');
  return [{ each: Int32Array.from(data.filter((_, n) => n % shape[1]! < params.prefill)) }];
}
