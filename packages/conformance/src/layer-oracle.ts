// A layer by its definition, in doubles: project, split, attend, merge, project.
//
//   head_h = attention(norm(X_q W^Q_h), [norm(X_k W^K_h); memory keys], [X_v W^V_h; memory values])
//   output = (concat(head_1 … head_H) · sigmoid(X_q W^G)) W^O
import type { QueryKeyNorm } from '@polyhead/core';
import { tabulate } from './inputs';
import { attentionOracle, entryAt, type HostTensor, type OracleInputs, type Sizes } from './oracle';
import { type PositionOracle, placesOf, turned } from './position-checks/position-oracle';

/** What the oracle needs of a config; sizes follow from the weights. */
export interface OracleLayerConfig {
  readonly numHeads: number;
  readonly numKeyValueHeads?: number | undefined;
  readonly scale?: number | undefined;
  readonly softcap?: number | undefined;
  readonly addZeroAttention?: boolean | undefined;
  readonly queryKeyNorm?: QueryKeyNorm | undefined;
  readonly outputGate?: 'number' | 'head' | undefined;
}

export interface LayerOracleInputs extends Pick<OracleInputs, 'isVisible' | 'bias' | 'positions'> {
  readonly config: OracleLayerConfig;
  /** By variable name: query/kernel [in, out], query/bias [out], … memory/key [M, Hkv * D]. */
  readonly weights: { readonly [name: string]: HostTensor };
  readonly query: HostTensor; // [B, Sq, E]
  readonly key?: HostTensor; // [B, Skv, E of keys]; default: the query
  readonly value?: HostTensor; // [B, Skv, E of values]; default: the key
  readonly position?: PositionOracle;
}

export interface LayerOracleResult {
  readonly output: Float64Array; // [B, Sq, outputDim]
  readonly headOutputs: Float64Array; // [B, Hq, Sq, Dv]
  readonly weights: Float64Array; // [B, Hq, Sq, Skv + memory]
  readonly logSumExp: Float64Array; // [B, Hq, Sq]
  readonly maxAbsScore: number;
}

export function layerOracle(inputs: LayerOracleInputs): LayerOracleResult {
  const { config, weights, query, key = query, value = key, isVisible, bias } = inputs;
  const { numHeads, numKeyValueHeads = numHeads, softcap = 0 } = config;
  const projected = (name: string, x: HostTensor, heads: number) =>
    splitHeads(normalized(project(x, weights, name), name, { ...inputs, heads }), heads);
  const places = placesOf(inputs, { Sq: query.shape[1]!, Skv: key.shape[1]! });
  const turn = (heads: HostTensor, role: 'query' | 'key') => turned(heads, role, { ...inputs, places });
  const q = projected('query', query, numHeads); // [B, Hq, Sq, D]
  const keys = turn(projected('key', key, numKeyValueHeads), 'key');
  const k = withMemory(keys, inputs, 'memory/key'); // [B, Hkv, Skv + M, D]
  const v = withMemory(projected('value', value, numKeyValueHeads), inputs, 'memory/value');
  const [B, Hq, Sq, D] = q.shape as [number, number, number, number];
  const [, Hkv, Skv, Dv] = v.shape as [number, number, number, number];
  const sizes: Sizes = { B, Hq, Hkv, Sq, Skv, D, Dv };
  const scale = config.scale ?? inputs.position?.scale?.(D);
  const isMemory = (j: number) => j >= key.shape[1]!;
  const relative = inputs.position?.tables?.(weights, { sizes, places, query: q });
  const { output, ...rest } = attentionOracle({
    sizes,
    query: turn(q, 'query').data,
    key: k.data,
    value: v.data,
    softcap,
    ...(scale !== undefined && { scale }),
    positions: places,
    ...(relative && { relative }),
    ...(weights['sinks/logits'] && { sinkLogits: weights['sinks/logits'].data }),
    isVisible: (b, h, i, j) => isMemory(j) || isVisible?.(b, h, i, j) !== false,
    ...(bias && { bias: tabulate([B, Hq, Sq, Skv], (...at) => (isMemory(at[3]!) ? 0 : entryAt(bias, at))) }),
  });
  const gated = gatedHeads({ shape: [B, Hq, Sq, Dv], data: output }, inputs);
  return { ...rest, headOutputs: gated.data, output: project(mergeHeads(gated), weights, 'output').data };
}

/** Each head's numbers, or all of a token's, made of one size: [B, S, H * N]. */
function normalized(
  x: HostTensor,
  name: string,
  { config, weights, heads }: LayerOracleInputs & { readonly heads: number },
): HostTensor {
  const { queryKeyNorm: norm } = config;
  if (!norm || name === 'value') return x;
  const { kind, epsilon = 1e-6, over = 'head' } = norm;
  const width = x.shape[2]! / (over === 'all' ? 1 : heads);
  const [gain, offset] = ['gain', 'offset'].map((part) => weights[`${name}/${part}`]?.data);
  const data = x.data.map((value, at) => {
    const numbers = x.data.subarray(at - (at % width), at - (at % width) + width);
    const sumOf = (f: (n: number) => number) => numbers.reduce((sum, n) => sum + f(n), 0);
    const mean = kind === 'layer' ? sumOf((n) => n) / width : 0;
    const squares = sumOf((n) => (n - mean) ** 2) / (kind === 'l2' ? 1 : width);
    return (
      ((value - mean) / Math.sqrt(squares + epsilon)) * (gain?.[at % width] ?? 1) +
      (offset?.[at % width] ?? 0)
    );
  });
  return { shape: x.shape, data };
}

/** Heads [B, H, S, Dv] times a sigmoid of the query: of each number, or one of each head. */
function gatedHeads(heads: HostTensor, { config, weights, query }: LayerOracleInputs): HostTensor {
  if (!config.outputGate) return heads;
  const gates = splitHeads(project(query, weights, 'gate'), heads.shape[1]!); // [B, H, S, Dv | 1]
  return tabulate(heads.shape as [number, number, number, number], (...at) => {
    return entryAt(heads, at) / (1 + Math.exp(-entryAt(gates, at)));
  });
}

/** x kernel + bias. */
function project(x: HostTensor, weights: LayerOracleInputs['weights'], name: string): HostTensor {
  const kernel = weights[`${name}/kernel`]!;
  const bias = weights[`${name}/bias`];
  const [B, S, inputs] = x.shape as [number, number, number];
  const outputs = kernel.shape[1]!;
  return tabulate([B, S, outputs], (b, s, o) => {
    let sum = bias?.data[o] ?? 0;
    for (let i = 0; i < inputs; i++) sum += x.data[(b * S + s) * inputs + i]! * kernel.data[i * outputs + o]!;
    return sum;
  });
}

/** [B, S, H * N] as [B, H, S, N]: head h owns channels h N to (h + 1) N. */
function splitHeads(x: HostTensor, heads: number): HostTensor {
  const [B, S, width] = x.shape as [number, number, number];
  const N = width / heads;
  return tabulate([B, heads, S, N], (b, h, s, n) => x.data[(b * S + s) * width + h * N + n]!);
}

function mergeHeads(x: HostTensor): HostTensor {
  const [B, H, S, N] = x.shape as [number, number, number, number];
  return tabulate([B, S, H * N], (b, s, c) => entryAt(x, [b, Math.floor(c / N), s, c % N]));
}

/** Rows of the layer's own behind those of the input: learned ones, then one of zeros. */
function withMemory(rows: HostTensor, { config, weights }: LayerOracleInputs, name: string): HostTensor {
  const [B, H, S, N] = rows.shape as [number, number, number, number];
  const learned = weights[name];
  const M = learned?.shape[0] ?? 0;
  return tabulate([B, H, S + M + (config.addZeroAttention ? 1 : 0), N], (b, h, s, n) => {
    if (s < S) return entryAt(rows, [b, h, s, n]);
    return s < S + M ? learned!.data[(s - S) * H * N + h * N + n]! : 0;
  });
}
