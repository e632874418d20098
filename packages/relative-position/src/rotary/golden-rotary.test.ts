// Rotary positions of transformers and of ONNX.
import { expectClose, type GoldenCase, golden, goldenCases, toHost, toTensor } from '@polyhead/conformance';
import { fromSequenceMajor, splitHeads } from '@polyhead/core';
import type * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import huggingFaceFile from '../fixtures/hugging-face-rotary.json';
import onnxFile from '../fixtures/onnx-rotary.json';
import { type RotaryScaling, rotary } from '../index';
import { type RotaryBase, scaledFrequencies } from './frequencies';
import { turnPairs } from './turn-pairs';

interface HuggingFaceParams {
  readonly head_dim: number;
  readonly rotary_dim?: number;
  readonly partial_rotary_factor?: number;
  readonly rope_theta: number;
  readonly max_position_embeddings?: number;
  readonly original_max_position_embeddings?: number | null;
  readonly rope_scaling?: HuggingFaceScaling | null;
  readonly seq_len?: number;
  readonly interleaved: boolean;
}

interface HuggingFaceScaling {
  readonly rope_type?: string;
  readonly type?: string;
  readonly factor?: number;
  readonly original_max_position_embeddings?: number;
  readonly low_freq_factor?: number;
  readonly high_freq_factor?: number;
  readonly mscale?: number;
  readonly mscale_all_dim?: number;
  readonly short_factor?: readonly number[];
  readonly long_factor?: readonly number[];
}

type HuggingFaceCase = GoldenCase<HuggingFaceParams>;

function configOf({
  params,
}: HuggingFaceCase): RotaryBase & { readonly headDim: number; readonly interleaved: boolean } {
  const { head_dim: headDim, partial_rotary_factor = 1, rope_theta: base, interleaved } = params;
  const { rotary_dim: rotaryDim = headDim * partial_rotary_factor } = params;
  return { headDim, rotaryDim, base, interleaved };
}

function scalingOf({ params }: HuggingFaceCase): RotaryScaling | undefined {
  const { rope_scaling: scaling, max_position_embeddings: longest = 0 } = params;
  if (!scaling) return undefined;
  const { factor = 1, original_max_position_embeddings: originalLength = longest } = scaling;
  const { mscale, mscale_all_dim: mscaleAllDim } = scaling;
  const original = params.original_max_position_embeddings ?? originalLength;
  switch (scaling.rope_type ?? scaling.type) {
    case 'linear':
      return { type: 'linear', factor };
    case 'dynamic':
      return { type: 'dynamic', factor, originalLength };
    case 'yarn':
      return {
        type: 'yarn',
        factor,
        originalLength,
        ...(mscale && mscaleAllDim && { mscale, mscaleAllDim }),
      };
    case 'longrope':
      return {
        type: 'longrope',
        factor: longest / original,
        originalLength: original,
        shortFactors: scaling.short_factor!,
        longFactors: scaling.long_factor!,
      };
    case 'llama3':
      return {
        type: 'llama3',
        factor,
        originalLength,
        lowFrequencyFactor: scaling.low_freq_factor!,
        highFrequencyFactor: scaling.high_freq_factor!,
      };
    default:
      throw new Error(`${JSON.stringify(scaling)} is not known here`);
  }
}

const huggingFaceCases = [...goldenCases<HuggingFaceParams>(huggingFaceFile).values()];

describe('rotary gives what transformers gives', () => {
  it.each(huggingFaceCases)('$name', (goldenCase) => {
    const scaling = scalingOf(goldenCase);
    const { rotate } = rotary({ ...configOf(goldenCase), ...(scaling && { scaling }) });
    const isSequenceMajor = goldenCase.name.startsWith('gptj');
    const positions = Int32Array.from(golden(goldenCase.inputs, 'position_ids').data);
    for (const name of ['q', 'k']) {
      const heads = toTensor(golden(goldenCase.inputs, name)) as tf.Tensor4D;
      const turned = rotate!(isSequenceMajor ? fromSequenceMajor(heads) : heads, 'query', [
        { each: positions },
      ]);
      const actual = toHost(isSequenceMajor ? fromSequenceMajor(turned) : turned);
      // transformers computes angles in float32: 41 radians are known to 2e-6 there.
      golden(goldenCase.outputs, `${name}_rot`).data.forEach((expected, n) => {
        expect(Math.abs(actual[n]! - expected)).toBeLessThan(1e-5);
      });
    }
  });

  it.each(huggingFaceCases.filter(({ outputs }) => outputs.inv_freq))('$name: frequencies', (goldenCase) => {
    const { perPosition, factor } = scaledFrequencies(
      configOf(goldenCase),
      scalingOf(goldenCase),
      goldenCase.params.seq_len ?? 1,
    );
    golden(goldenCase.outputs, 'inv_freq').data.forEach((expected, i) => {
      expect(Math.abs(perPosition[i]! / expected - 1)).toBeLessThan(1e-6); // float32 there
    });
    expect(factor).toBeCloseTo(goldenCase.outputs.attention_scaling?.data[0] ?? 1, 6);
  });
});

interface OnnxParams {
  readonly rotary_embedding_dim: number;
  readonly interleaved: 0 | 1;
  readonly rank: 3 | 4;
  readonly H: number;
}

describe('pairs turn by given angles as in ONNX', () => {
  it.each([...goldenCases<OnnxParams>(onnxFile).values()])('$name', ({ params, inputs, outputs }) => {
    const x = toTensor(golden(inputs, 'X'));
    const heads = params.rank === 4 ? (x as tf.Tensor4D) : splitHeads(x as tf.Tensor3D, params.H);
    const [B, , S] = heads.shape;
    const pairs = params.rotary_embedding_dim / 2;
    const angles = (name: string) => {
      const cache = golden(inputs, name).data;
      const places = inputs.position_ids?.data ?? Float64Array.from({ length: B * S }, (_, token) => token);
      return Float32Array.from({ length: B * S * pairs }, (_, n) => {
        return cache[places[Math.floor(n / pairs)]! * pairs + (n % pairs)]!;
      });
    };
    const turned = turnPairs(heads, {
      angles: { entries: B, S, cos: angles('cos_cache'), sin: angles('sin_cache') },
      interleaved: params.interleaved === 1,
    });
    const expected = toTensor(golden(outputs, 'Y'));
    const output = params.rank === 4 ? expected : splitHeads(expected as tf.Tensor3D, params.H);
    expectClose({ actual: { turned: toHost(turned) }, expected: { turned: toHost(output) } });
  });
});
