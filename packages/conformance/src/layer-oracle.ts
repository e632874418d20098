// A layer by its definition, in doubles: project, split, attend, merge, project.
//
//   head_h = attention(norm(X_q W^Q_h), [norm(X_k W^K_h); memory keys], [X_v W^V_h; memory values])
//   output = (concat(head_1 … head_H) · sigmoid(X_q W^G)) W^O
import type { QueryKeyNorm } from '@polyhead/core';
import { mergeHostHeads, projectHost, splitHostHeads } from './host-heads';
import { tabulate } from './inputs';
import { attentionOracle, entryAt, type HostTensor, type OracleInputs, type Sizes } from './oracle';
import { hostPositionsOf, type PositionOracle, rotated } from './position-checks/position-oracle';

/** What `layerOracle` needs of a config; sizes follow from the weights. */
export interface OracleLayerConfig {
  readonly numHeads: number;
  readonly numKeyValueHeads?: number | undefined;
  readonly scale?: number | undefined;
  readonly softcap?: number | undefined;
  readonly addZeroAttention?: boolean | undefined;
  readonly queryKeyNorm?: QueryKeyNorm | undefined;
  readonly outputGate?: 'number' | 'head' | undefined;
}

/** Config, weights, inputs and call of a layer, on the host. */
export interface LayerOracleInputs extends Pick<OracleInputs, 'isVisible' | 'bias' | 'keep' | 'positions'> {
  /** A variant's own options stand here too. */
  readonly config: OracleLayerConfig;
  /** By variable name: query/kernel [in, out], query/bias [out], … memory/key [M, Hkv * D]. */
  readonly weights: { readonly [name: string]: HostTensor };
  readonly query: HostTensor; // [B, Sq, E]
  readonly key?: HostTensor; // [B, Skv, E of keys]; default: the query
  readonly value?: HostTensor; // [B, Skv, E of values]; default: the key
  readonly position?: PositionOracle;
}

/** What a layer computes, by its definition in doubles. A result that it never has is left out. */
export type LayerOracle = (inputs: LayerOracleInputs) => {
  readonly output: Float64Array; // [B, Sq, outputDim]
  readonly headOutputs?: Float64Array; // [B, Hq, Sq, Dv]
  readonly weights?: Float64Array; // [B, Hq, Sq, Skv + memory], before dropout
  readonly logSumExp?: Float64Array; // [B, Hq, Sq]
  /** Errors may grow with it once it is above 100. */
  readonly maxAbsScore: number;
};

/** What `layerOracle` gives. */
export interface LayerOracleResult {
  readonly output: Float64Array; // [B, Sq, outputDim]
  readonly headOutputs: Float64Array; // [B, Hq, Sq, Dv]
  readonly weights: Float64Array; // [B, Hq, Sq, Skv + memory]
  readonly logSumExp: Float64Array; // [B, Hq, Sq]
  readonly maxAbsScore: number;
}

/** Softmax attention between projections, with every option of `AttentionConfig`. */
export function layerOracle(inputs: LayerOracleInputs): LayerOracleResult {
  const { config, weights, query, key = query, value = key, isVisible, bias, keep } = inputs;
  const { numHeads, numKeyValueHeads = numHeads, softcap = 0 } = config;
  const projected = (name: string, x: HostTensor, heads: number) =>
    splitHostHeads(normalized(projectHost(x, weights, name), name, { ...inputs, heads }), heads);
  const positions = hostPositionsOf(inputs, { Sq: query.shape[1]!, Skv: key.shape[1]! });
  const rotate = (heads: HostTensor, role: 'query' | 'key') => rotated(heads, role, { ...inputs, positions });
  const q = projected('query', query, numHeads); // [B, Hq, Sq, D]
  const keys = rotate(projected('key', key, numKeyValueHeads), 'key');
  const k = withMemory(keys, inputs, 'memory/key'); // [B, Hkv, Skv + M, D]
  const v = withMemory(projected('value', value, numKeyValueHeads), inputs, 'memory/value');
  const [B, Hq, Sq, D] = q.shape as [number, number, number, number];
  const [, Hkv, Skv, Dv] = v.shape as [number, number, number, number];
  const sizes: Sizes = { B, Hq, Hkv, Sq, Skv, D, Dv };
  const scale = config.scale ?? inputs.position?.scale?.(D);
  const isMemory = (j: number) => j >= key.shape[1]!;
  const relative = inputs.position?.tables?.(weights, { sizes, positions, query: q });
  const { output, ...rest } = attentionOracle({
    sizes,
    query: rotate(q, 'query').data,
    key: k.data,
    value: v.data,
    softcap,
    ...(scale !== undefined && { scale }),
    positions,
    ...(keep && { keep }),
    ...(relative && { relative }),
    ...(weights['sinks/logits'] && { sinkLogits: weights['sinks/logits'].data }),
    isVisible: (b, h, i, j) => isMemory(j) || isVisible?.(b, h, i, j) !== false,
    ...(bias && { bias: tabulate([B, Hq, Sq, Skv], (...at) => (isMemory(at[3]!) ? 0 : entryAt(bias, at))) }),
  });
  const gated = gatedHeads({ shape: [B, Hq, Sq, Dv], data: output }, inputs);
  return {
    ...rest,
    headOutputs: gated.data,
    output: projectHost(mergeHostHeads(gated), weights, 'output').data,
  };
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
  const gates = splitHostHeads(projectHost(query, weights, 'gate'), heads.shape[1]!); // [B, H, S, Dv | 1]
  return tabulate(heads.shape as [number, number, number, number], (...at) => {
    return entryAt(heads, at) / (1 + Math.exp(-entryAt(gates, at)));
  });
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
