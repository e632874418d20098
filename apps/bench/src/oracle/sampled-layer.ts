// A self-attention layer in doubles: some of its heads, and some rows and columns of its output. Projections around the
// oracle of the conformance suite, for layers too large to compute whole.
import { attentionOracle } from '@polyhead/conformance/oracle';
import type { Attention } from '@polyhead/core';

/** Of one batch entry. */
export interface SampledRows {
  readonly input: ArrayLike<number>; // [S, E]
  readonly rows: readonly number[]; // the query rows to compute
  readonly causal: boolean;
  /** Keys [Hkv, P, D] and values [Hkv, P, Dv] that stand before those of the input. */
  readonly cached?: { readonly key: Float32Array; readonly value: Float32Array };
  /** The same with those of the input behind them, where a cache keeps other numbers than it is given. */
  readonly stored?: { readonly key: Float32Array; readonly value: Float32Array };
}

export interface SampledLayer {
  readonly heads: readonly number[];
  readonly columns: readonly number[];
  /** [rows, heads · Dv]: the heads side by side, before the output projection. */
  headOutputs(sample: SampledRows): Float64Array;
  /** What the output projection makes of rows of all heads, [rows, Hq · Dv]: [rows, columns]. */
  output(headOutputs: ArrayLike<number>): Float64Array;
}

/** What of a layer is computed; all, unless it is given. */
export interface SampledPart {
  readonly heads?: readonly number[];
  readonly columns?: readonly number[];
}

/** Of a layer that projects, attends and projects, with the variables of `MultiHeadAttention`: reads what it needs of them. */
export function sampleLayer(layer: Attention, part: SampledPart = {}): SampledLayer {
  const { embedDim: E, numHeads: Hq, outputDim = E } = layer.config as ProjectedConfig;
  const { heads: Hkv, keySize: D, valueSize: Dv } = layer.cacheShape(1);
  const { heads = range(0, Hq), columns = range(0, outputDim) } = part;
  const groups = heads.map((h) => Math.floor((h * Hkv) / Hq));
  const projection = (name: string, of: readonly number[], size: number) =>
    readProjection(
      layer,
      name,
      of.flatMap((n) => range(n * size, (n + 1) * size)),
    );
  const [query, key, value] = [
    projection('query', heads, D),
    projection('key', groups, D),
    projection('value', groups, Dv),
  ];
  const output = projection('output', columns, 1);
  const H = heads.length;
  return {
    heads,
    columns,
    headOutputs({ input, rows, causal, cached, stored }) {
      const S = input.length / E;
      const kept = (stored ?? cached)?.key ?? [];
      const P = kept.length / Hkv / D - (stored ? S : 0);
      const queryRows = Float64Array.from(
        rows.flatMap((row) => range(row * E, (row + 1) * E)),
        (n) => input[n]!,
      );
      const rowsOf = (name: 'key' | 'value', of: Projection, size: number) =>
        stored
          ? joinRows(stored[name], new Float64Array(0), { groups, P: P + S, S: 0, size })
          : joinRows(cached?.[name], swapFirstAxes(project(input, of), S, H), { groups, P, S, size });
      const result = attentionOracle({
        sizes: { B: 1, Hq: H, Hkv: H, Sq: rows.length, Skv: P + S, D, Dv },
        query: swapFirstAxes(project(queryRows, query), rows.length, H),
        key: rowsOf('key', key, D),
        value: rowsOf('value', value, Dv),
        isVisible: (_b, _h, i, j) => !causal || j <= P + rows[i]!,
      });
      return swapFirstAxes(result.output, H, rows.length);
    },
    output: (headOutputs) => project(headOutputs, output),
  };
}

interface ProjectedConfig {
  readonly embedDim: number;
  readonly numHeads: number;
  readonly outputDim?: number;
}

interface Projection {
  readonly kernel: Float32Array; // [in, out]
  readonly bias: Float32Array; // [out]
}

function readProjection(layer: Attention, name: string, columns: readonly number[]): Projection {
  const read = (part: string) => layer.variables.find((named) => named.name === `${name}/${part}`)?.variable;
  const kernel = read('kernel')!;
  const [numbers, width] = [kernel.dataSync(), kernel.shape[1]!];
  const picked = new Float32Array(kernel.shape[0]! * columns.length);
  for (let n = 0; n < picked.length; n++) {
    picked[n] = numbers[Math.floor(n / columns.length) * width + columns[n % columns.length]!]!;
  }
  const bias = read('bias')?.dataSync();
  return { kernel: picked, bias: Float32Array.from(columns, (column) => bias?.[column] ?? 0) };
}

/** x W + b, with x [n, in] and W [in, out]: [n, out]. */
function project(x: ArrayLike<number>, { kernel, bias }: Projection): Float64Array {
  const outputs = bias.length;
  const inputs = kernel.length / outputs;
  const result = new Float64Array((x.length / inputs) * outputs);
  for (let row = 0; row < x.length / inputs; row++) {
    const sums = result.subarray(row * outputs, (row + 1) * outputs);
    sums.set(bias);
    for (let i = 0; i < inputs; i++) {
      const factor = x[row * inputs + i]!;
      for (let j = 0; j < outputs; j++) sums[j]! += factor * kernel[i * outputs + j]!;
    }
  }
  return result;
}

/** Cached rows [Hkv, P, size] of the groups that the heads read, and behind them their own [heads, S, size]. */
function joinRows(
  cached: Float32Array | undefined,
  own: Float64Array,
  { groups, P, S, size }: { groups: readonly number[]; P: number; S: number; size: number },
): Float64Array {
  const joined = new Float64Array(groups.length * (P + S) * size);
  for (const [n, group] of groups.entries()) {
    const start = n * (P + S) * size;
    if (cached) joined.set(cached.subarray(group * P * size, (group + 1) * P * size), start);
    joined.set(own.subarray(n * S * size, (n + 1) * S * size), start + P * size);
  }
  return joined;
}

/** [a, b, N] to [b, a, N]: tokens of heads to heads of tokens, and back. */
function swapFirstAxes(x: Float64Array, a: number, b: number): Float64Array {
  const N = x.length / a / b;
  const result = new Float64Array(x.length);
  for (let i = 0; i < a; i++) {
    for (let j = 0; j < b; j++) result.set(x.subarray((i * b + j) * N, (i * b + j + 1) * N), (j * a + i) * N);
  }
  return result;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, n) => from + n);
}
