// The golden cases of torch's scaled dot-product attention, read as inputs of the oracle.
import { type GoldenCase, type GoldenTensor, golden, goldenCases } from './golden';
import { entryAt, type HostTensor, type OracleInputs, type Sizes } from './oracle';

interface SdpaParams {
  readonly scale?: number | null;
  readonly causal?: 'top_left' | 'bottom_right' | null;
}

export interface SdpaCase extends GoldenCase<SdpaParams> {
  readonly oracle: OracleInputs;
  /** [B | 1, Hq | 1, Sq | 1, Skv | 1], 1 = may attend. */
  readonly allowed?: HostTensor;
}

export function sdpaCases(file: unknown): readonly SdpaCase[] {
  return [...goldenCases<SdpaParams>(file).values()].filter(({ inputs }) => inputs.q).map(readCase);
}

function readCase(sample: GoldenCase<SdpaParams>): SdpaCase {
  const { scale, causal } = sample.params;
  const [query, key, value] = ['q', 'k', 'v'].map((name) => golden(sample.inputs, name)) as [
    GoldenTensor,
    GoldenTensor,
    GoldenTensor,
  ];
  const [B, Hq, Sq, D] = query.shape as [number, number, number, number];
  const [, Hkv, Skv, Dv] = value.shape as [number, number, number, number];
  const mask = sample.inputs.mask && { ...sample.inputs.mask, shape: rankFour(sample.inputs.mask.shape) };
  const allowed = mask?.dtype === 'bool' ? mask : undefined;
  const diagonal = { top_left: 0, bottom_right: Skv - Sq, none: Skv }[causal ?? 'none'];
  return {
    ...sample,
    ...(allowed && { allowed }),
    oracle: {
      sizes: { B, Hq, Hkv, Sq, Skv, D, Dv } satisfies Sizes,
      query: query.data,
      key: key.data,
      value: value.data,
      ...(typeof scale === 'number' && { scale }),
      ...(mask && !allowed && { bias: mask }),
      isVisible: (...at) =>
        at[3] <= at[2] + diagonal && (allowed === undefined || entryAt(allowed, at) === 1),
    },
  };
}

const rankFour = (shape: readonly number[]) => [...Array(4 - shape.length).fill(1), ...shape];
