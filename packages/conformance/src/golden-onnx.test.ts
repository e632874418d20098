// The ONNX reference of Attention-23, -24 and -25: past and present, offsets of the diagonal, windows, groups, softcap.
import {
  type AttendOptions,
  allOf,
  attend,
  causal,
  composed,
  dense,
  type Mask,
  slidingWindow,
  splitHeads,
  validLengths,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { expectClose } from './expect-close';
import file from './fixtures/onnx-attention.json';
import { type GoldenCase, golden, goldenCases } from './golden';
import { toHost, toTensor } from './kernel-run';

interface OnnxParams {
  readonly Hq: number;
  readonly Hkv: number;
  readonly Sq: number;
  readonly past: number;
  readonly rank: 3 | 4;
  readonly scale: number | null;
  readonly is_causal: boolean;
  readonly softcap: number | null;
  readonly qk_matmul_output_mode: number | null;
  readonly left_window_size: number;
  readonly right_window_size: number;
}

type OnnxCase = GoldenCase<OnnxParams>;
const cases = [...goldenCases<OnnxParams>(file).values()];

describe('composed gives what the ONNX reference of Attention gives', () => {
  it.each(cases)('$name', (goldenCase) => {
    const { params, inputs, outputs } = goldenCase;
    const heads = (name: string, H: number): tf.Tensor4D => {
      const x = toTensor(golden(inputs, name));
      return params.rank === 3 && x.rank === 3 ? splitHeads(x as tf.Tensor3D, H) : (x as tf.Tensor4D);
    };
    const withPast = (name: string, past: string) => {
      const rows = heads(name, params.Hkv);
      return inputs[past] ? tf.concat([heads(past, params.Hkv), rows], 2) : rows;
    };
    const [key, value] = [withPast('K', 'past_key'), withPast('V', 'past_value')];
    const result = attend(composed(), { query: heads('Q', params.Hq), key, value }, optionsOf(goldenCase));
    const merged = params.rank === 3 ? tf.transpose(result.output, [0, 2, 1, 3]) : result.output;
    const expected = golden(outputs, 'Y').data;
    expectClose({ actual: { output: toHost(merged) }, expected: { output: expected } });
    if (params.qk_matmul_output_mode === 3) {
      const weights = golden(outputs, 'qk_matmul_output').data;
      expectClose({ actual: { weights: toHost(result.weights!) }, expected: { weights } });
    }
    if (outputs.present_key) expect(key.shape).toEqual(golden(outputs, 'present_key').shape);
  });
});

function optionsOf({ params, inputs }: OnnxCase): AttendOptions {
  const { attn_mask: mask, nonpad_kv_seqlen: lengths } = inputs;
  const masks: Mask[] = [];
  if (params.is_causal) masks.push(causal());
  const side = (size: number) => (size < 0 ? Infinity : size);
  const { left_window_size: left, right_window_size: right } = params;
  if (left >= 0 || right >= 0) masks.push(slidingWindow({ left: side(left), right: side(right) }));
  if (lengths) masks.push(validLengths([...lengths.data]));
  if (mask?.dtype === 'bool') masks.push(dense(tf.cast(toTensor(mask), 'bool')));
  // Their diagonal starts behind the past, or so that the last query stands at the last key that counts.
  const queryStart = lengths ? [...lengths.data].map((length) => length - params.Sq) : params.past;
  return {
    mask: allOf(...masks),
    queryStart,
    returns: ['weights'],
    ...(params.scale !== null && { scale: params.scale }),
    ...(params.softcap !== null && { softcap: params.softcap }),
    ...(mask?.dtype === 'float32' && { bias: rankFour(toTensor(mask)) }),
  };
}

function rankFour(x: tf.Tensor): tf.Tensor4D {
  return tf.reshape(x, [...Array<number>(4 - x.rank).fill(1), ...x.shape] as [1, 1, 1, 1]);
}
