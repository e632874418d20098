// torch's and jax's scaled dot-product attention against `composed`: results, log-sum-exp and gradients.
import {
  type AttendOptions,
  allOf,
  attend,
  causal,
  composed,
  dense,
  fromSequenceMajor,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { expectClose } from './expect-close';
import jaxFile from './fixtures/jax-stress.json';
import flashFile from './fixtures/torch-flash-log-sum-exp.json';
import sdpaFile from './fixtures/torch-sdpa.json';
import stressFile from './fixtures/torch-stress.json';
import { golden, goldenCases } from './golden';
import { type SdpaCase, sdpaCases } from './golden-sdpa';
import { attendWith, type Numbers, toHost, toTensor } from './kernel-run';
import { attentionOracle } from './oracle';

const torchCases = [...sdpaCases(sdpaFile), ...sdpaCases(flashFile), ...sdpaCases(stressFile)];

describe('composed gives what torch gives', () => {
  it.each(torchCases)('$name', (goldenCase) => {
    const results = attendWith(composed(), tensorsOf(goldenCase), {
      ...optionsOf(goldenCase),
      returns: ['logSumExp'],
    });
    expectClose({
      actual: {
        output: toHost(results.output),
        ...(goldenCase.outputs.lse && { logSumExp: toHost(results.logSumExp!) }),
      },
      expected: expectedOf(goldenCase),
      maxAbsScore: largestProduct(goldenCase),
    });
  });

  it.each(torchCases.filter(({ inputs }) => inputs.cotangent))('$name: gradients', (goldenCase) => {
    const tensors = tensorsOf(goldenCase);
    const options = optionsOf(goldenCase);
    const cotangent = toTensor(golden(goldenCase.inputs, 'cotangent'));
    const names = Object.keys(tensors);
    const loss = (...taped: tf.Tensor[]) => {
      const named = Object.fromEntries(names.map((name, n) => [name, taped[n]!]));
      return tf.sum(tf.mul(attendWith(composed(), named, options).output, cotangent)) as tf.Scalar;
    };
    const gradients = tf.grads(loss)(Object.values(tensors));
    const expected = gradientsOf(goldenCase);
    const actual = names.map((name, n) => [name, toHost(gradients[n]!)] as const);
    expectClose({
      actual: Object.fromEntries(actual.filter(([name]) => expected[name])),
      expected,
      maxAbsScore: largestProduct(goldenCase),
      isGradient: true,
    });
  });
});

describe('a row that sees no key gives zeros, where', () => {
  it('torch.softmax gives NaN', () => {
    const goldenCase = goldenCases<object>(stressFile).get('plain_softmax_fully_masked_row')!;
    const scores = golden(goldenCase.inputs, 'scores');
    const [B, H, Sq, Skv] = scores.shape as [number, number, number, number];
    const tensors = {
      query: tf.zeros([B, H, Sq, 1]),
      key: tf.zeros([B, H, Skv, 1]),
      value: tf.zeros([B, H, Skv, 1]),
    };
    const { weights } = attendWith(
      composed(),
      { ...tensors, bias: toTensor(scores) },
      { returns: ['weights'] },
    );
    const theirs = golden(goldenCase.outputs, 'out').data;
    expectClose({ actual: { weights: toHost(weights!) }, expected: { weights: zeroForNaN(theirs) } });
    expect(theirs.some(Number.isNaN)).toBe(true);
  });

  // In float32 jax adds -0.7 of the largest number, which leaves the mean of the values; in float64 it overflows to NaN.
  it.each(['jax_fully_masked_row_float32', 'jax_fully_masked_row_float64'])(
    '%s gives the mean or NaN',
    (name) => {
      const { inputs, outputs } = goldenCases<object>(jaxFile).get(name)!;
      const [query, key, value] = ['query', 'key', 'value'].map((part) =>
        fromSequenceMajor(toTensor(golden(inputs, part)) as tf.Tensor4D),
      );
      const mask = dense(tf.cast(toTensor(golden(inputs, 'mask')), 'bool'));
      const { output } = attend(composed(), { query: query!, key: key!, value: value! }, { mask });
      const theirs = golden(outputs, 'out');
      const [, T, N, D] = theirs.shape as [number, number, number, number];
      const masked = 1; // the query whose every key is hidden
      const expected = theirs.data.map((x, n) => (Math.floor(n / (N * D)) % T === masked ? 0 : x));
      expectClose({
        actual: { output: toHost(fromSequenceMajor(output)) },
        expected: { output: expected },
        maxAbsScore: 2e4,
      });
    },
  );
});

function tensorsOf({ oracle }: SdpaCase): { readonly [argument: string]: tf.Tensor } {
  const { B, Hq, Hkv, Sq, Skv, D, Dv } = oracle.sizes;
  return {
    query: toTensor({ shape: [B, Hq, Sq, D], data: oracle.query }),
    key: toTensor({ shape: [B, Hkv, Skv, D], data: oracle.key }),
    value: toTensor({ shape: [B, Hkv, Skv, Dv], data: oracle.value }),
    ...(oracle.bias && { bias: toTensor(oracle.bias) }),
  };
}

function optionsOf({ oracle, allowed, params }: SdpaCase): AttendOptions {
  const masks = [
    ...(params.causal ? [causal()] : []),
    ...(allowed ? [dense(tf.cast(toTensor(allowed), 'bool'))] : []),
  ];
  return {
    mask: allOf(...masks),
    ...(oracle.scale !== undefined && { scale: oracle.scale }),
    ...(params.causal === 'top_left' && { queryStart: 0 }),
  };
}

/** The largest score but for the bias: -1e9 in a bias swallows the scores beside it in float32, here as in torch. */
function largestProduct({ oracle }: SdpaCase): number {
  const { bias: _, ...withoutBias } = oracle;
  return attentionOracle(withoutBias).maxAbsScore;
}

/** flash-for-cpu says 0 for the log-sum-exp of a row that sees nothing; here it is -Infinity, as flex has it. */
function expectedOf(goldenCase: SdpaCase): Numbers {
  const output = golden(goldenCase.outputs, 'out').data;
  const { lse } = goldenCase.outputs;
  if (!lse) return { output };
  const ours = attentionOracle(goldenCase.oracle).logSumExp;
  const isSentinel = (n: number) =>
    goldenCase.name.startsWith('flash') && ours[n] === Number.NEGATIVE_INFINITY;
  return { output, logSumExp: lse.data.map((x, n) => (isSentinel(n) ? ours[n]! : x)) };
}

/** Torch gives the gradient of a mask in some cases only. */
function gradientsOf({ outputs }: SdpaCase): Numbers {
  const names = { query: 'grad_q', key: 'grad_k', value: 'grad_v', bias: 'grad_mask' };
  const goldenCase = Object.entries(names).filter(([, theirs]) => outputs[theirs]);
  return Object.fromEntries(goldenCase.map(([ours, theirs]) => [ours, golden(outputs, theirs).data]));
}

function zeroForNaN(data: Float64Array): Float64Array {
  return data.map((x) => (Number.isNaN(x) ? 0 : x));
}
