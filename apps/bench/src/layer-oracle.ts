// A self-attention layer in doubles, for some of its query rows: projections around the oracle of the conformance suite.
import { attentionOracle } from '@polyhead/conformance';
import type { MultiHeadAttention } from '@polyhead/multi-head';

export interface LayerSample {
  readonly input: Float64Array; // [S, E]
  readonly rows: readonly number[]; // the query rows to compute
  readonly causal: boolean;
}

/** The output of those rows, [rows, outputDim]. Keys and values are projected for all of `input`. */
export function layerOracle(layer: MultiHeadAttention, { input, rows, causal }: LayerSample): Float64Array {
  const { embedDim: E, numHeads: H } = layer.config;
  const S = input.length / E;
  const weights = hostWeights(layer);
  const projected = (x: Float64Array, name: string) =>
    affine(x, weights.get(`${name}/kernel`)!, weights.get(`${name}/bias`));

  const queryRows = Float64Array.from(rows.flatMap((row) => [...input.subarray(row * E, (row + 1) * E)]));
  const query = swapFirstAxes(projected(queryRows, 'query'), rows.length, H);
  const key = swapFirstAxes(projected(input, 'key'), S, H);
  const value = swapFirstAxes(projected(input, 'value'), S, H);
  const sizes = {
    B: 1,
    Hq: H,
    Hkv: H,
    Sq: rows.length,
    Skv: S,
    D: key.length / H / S,
    Dv: value.length / H / S,
  };
  const isVisible = (_b: number, _h: number, i: number, j: number) => !causal || j <= rows[i]!;
  const { output } = attentionOracle({ sizes, query, key, value, isVisible });
  return projected(swapFirstAxes(output, H, rows.length), 'output');
}

interface Matrix {
  readonly columns: number;
  readonly values: ArrayLike<number>;
}

function hostWeights(layer: MultiHeadAttention): Map<string, Matrix> {
  return new Map(
    layer.variables.map(({ name, variable }) => {
      return [name, { columns: variable.shape.at(-1)!, values: variable.dataSync() }];
    }),
  );
}

/** x W + b, with x [n, in] and W [in, out]. */
function affine(x: Float64Array, { columns, values }: Matrix, bias?: Matrix): Float64Array {
  const inner = values.length / columns;
  const result = new Float64Array((x.length / inner) * columns);
  for (let row = 0; row < x.length / inner; row++) {
    const sums = result.subarray(row * columns, (row + 1) * columns);
    if (bias) sums.set(bias.values);
    for (let i = 0; i < inner; i++) {
      const factor = x[row * inner + i]!;
      for (let j = 0; j < columns; j++) sums[j]! += factor * values[i * columns + j]!;
    }
  }
  return result;
}

/** [a, b, D] to [b, a, D]: tokens of heads to heads of tokens, and back. */
function swapFirstAxes(x: Float64Array, a: number, b: number): Float64Array {
  const D = x.length / a / b;
  const result = new Float64Array(x.length);
  for (let i = 0; i < a; i++) {
    for (let j = 0; j < b; j++) result.set(x.subarray((i * b + j) * D, (i * b + j + 1) * D), (j * a + i) * D);
  }
  return result;
}
