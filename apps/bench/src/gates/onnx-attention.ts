// Which of onnxruntime's operators compute a work, each with its own layout of heads.
import type { AttentionInputs, AttentionWork } from './attention-work';
import { microsoft, oneNode } from './onnx-model';
import type { Feed, OnnxWork } from './onnx-work';

export type OnnxOp = 'MultiHeadAttention' | 'Attention' | 'Attention, folded' | 'GroupQueryAttention';

type Make = (work: AttentionWork, inputs: AttentionInputs) => OnnxWork | undefined;

/** Undefined where the operator has no such option. */
export const onnxOps: Readonly<Record<OnnxOp, Make>> = {
  MultiHeadAttention: (work, inputs) =>
    work.heads === work.keyValueHeads ? multiHead(work, inputs) : undefined,
  Attention: attention,
  'Attention, folded': (work, inputs) =>
    work.queries === 1 && work.heads > work.keyValueHeads ? folded(work, inputs) : undefined,
  // With a cache it copies the cache at each step.
  GroupQueryAttention: (work, inputs) =>
    work.causal && work.queries === work.keys ? groupQuery(work, inputs) : undefined,
};

function multiHead(work: AttentionWork, inputs: AttentionInputs): OnnxWork {
  const { heads, queries, headDim, causal } = work;
  const feeds = tokensFirstFeeds(work, inputs);
  return {
    name: 'MultiHeadAttention',
    graph: oneNode({
      op: 'MultiHeadAttention',
      domain: microsoft,
      attributes: { num_heads: heads, unidirectional: causal ? 1 : 0 },
      inputs: feeds,
      outputs: [float('output', [1, queries, heads * headDim])],
    }),
    feeds,
    read: (output) => swapFirstAxes(output, queries, heads),
  };
}

/** Opset 23. */
function attention(work: AttentionWork, { query, key, value }: AttentionInputs): OnnxWork {
  const { heads, keyValueHeads, queries, keys, headDim, causal } = work;
  const stored = [1, keyValueHeads, keys, headDim];
  const feeds = [
    { ...float('query', [1, heads, queries, headDim]), data: query },
    { ...float('key', stored), data: key },
    { ...float('value', stored), data: value },
  ];
  return {
    name: 'Attention',
    graph: oneNode({
      op: 'Attention',
      attributes: { is_causal: causal ? 1 : 0 },
      inputs: feeds,
      outputs: [float('output', [1, heads, queries, headDim])],
    }),
    feeds,
  };
}

/** The query heads of a group as query rows of one head: as they lie. */
function folded(work: AttentionWork, inputs: AttentionInputs): OnnxWork {
  const { heads, keyValueHeads } = work;
  const rows = { ...work, heads: keyValueHeads, queries: heads / keyValueHeads, causal: false };
  return { ...attention(rows, inputs), name: 'Attention, folded' };
}

function groupQuery(work: AttentionWork, inputs: AttentionInputs): OnnxWork {
  const { heads, keyValueHeads, queries, keys, headDim } = work;
  const feeds = tokensFirstFeeds(work, inputs);
  const lengths = [
    { name: 'lastKey', type: 'int32', dims: [1], data: Int32Array.of(keys - 1) },
    { name: 'tokens', type: 'int32', dims: [], data: Int32Array.of(keys) },
  ] as const;
  const present = [1, keyValueHeads, keys, headDim];
  return {
    name: 'GroupQueryAttention',
    graph: oneNode({
      op: 'GroupQueryAttention',
      domain: microsoft,
      attributes: { num_heads: heads, kv_num_heads: keyValueHeads },
      inputs: [...feeds, undefined, undefined, ...lengths], // no earlier keys and values
      outputs: [
        float('output', [1, queries, heads * headDim]),
        float('presentKey', present),
        float('presentValue', present),
      ],
    }),
    feeds: [...feeds, ...lengths],
    read: (output) => swapFirstAxes(output, queries, heads),
  };
}

/** [H, S, D] as [1, S, H · D]. */
function tokensFirstFeeds(work: AttentionWork, { query, key, value }: AttentionInputs): Feed[] {
  const { heads, keyValueHeads, queries, keys, headDim } = work;
  const stored = [1, keys, keyValueHeads * headDim];
  return [
    { ...float('query', [1, queries, heads * headDim]), data: swapFirstAxes(query, heads, queries) },
    { ...float('key', stored), data: swapFirstAxes(key, keyValueHeads, keys) },
    { ...float('value', stored), data: swapFirstAxes(value, keyValueHeads, keys) },
  ];
}

const float = (name: string, dims: readonly number[]) => ({ name, type: 'float32', dims }) as const;

/** [a, b, N] to [b, a, N]. */
function swapFirstAxes(x: Float32Array, a: number, b: number): Float32Array {
  const N = x.length / a / b;
  const result = new Float32Array(x.length);
  for (let i = 0; i < a; i++) {
    for (let j = 0; j < b; j++) result.set(x.subarray((i * b + j) * N, (i * b + j + 1) * N), (j * a + i) * N);
  }
  return result;
}
