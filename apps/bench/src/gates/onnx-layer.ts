// A layer of attention with rotary positions and a cache as a graph of onnxruntime, as exported models have it.
import { type Constant, type ModelValue, microsoft, type OnnxGraph } from './onnx-model';
import { loadOnnxruntime, type OnnxPeer, onnxruntimeNode } from './peers/onnxruntime';

export interface LayerSizes {
  readonly width: number; // E
  readonly heads: number; // Hq
  readonly keyValueHeads: number; // Hkv
  readonly headDim: number; // D
}

export interface LayerWeights {
  readonly query: Float32Array; // [E, Hq · D]
  readonly key: Float32Array; // [E, Hkv · D]
  readonly value: Float32Array; // [E, Hkv · D]
  readonly output: Float32Array; // [Hq · D, E]
}

/** Keys, turned already, and values of earlier tokens: [Hkv, S, D]. */
export interface EarlierTokens {
  readonly key: Float32Array;
  readonly value: Float32Array;
}

/** One token of the layer at a time. */
export interface OnnxLayer {
  readonly version: string | undefined;
  /** Back to the earlier tokens. */
  reset(): void;
  /** @returns [1, 1, E] */
  step(): Promise<Float32Array>;
}

/**
 * The native build is given keys and values as the place of the new ones, which is how it copies nothing; the other takes them
 * in and gives them out at each call.
 *
 * @param x the token, [1, 1, E]
 * @param capacity the most tokens that are kept
 * @throws Error where the package is not installed, or cannot
 */
export async function openOnnxLayer(
  peer: OnnxPeer,
  sizes: LayerSizes,
  { weights, earlier, x, capacity }: LayerInputs,
): Promise<OnnxLayer> {
  const { names, open, tensor } = await loadOnnxruntime(peer, 1);
  const session = await open(layerGraph(sizes, weights, capacity));
  const { width: E, keyValueHeads: Hkv, headDim: D } = sizes;
  const isShared = peer === onnxruntimeNode;
  const held = earlier.key.length / Hkv / D;
  const rows = isShared ? capacity : held;
  const float = (name: string, dims: readonly number[], data: Float32Array) =>
    tensor({ name, type: 'float32', dims, data });
  const kept = (name: string, data: Float32Array) =>
    float(name, [1, Hkv, rows, D], withRoom(data, Hkv, rows * D));
  const token = float('x', [1, 1, E], x);
  const first = { pastKey: kept('pastKey', earlier.key), pastValue: kept('pastValue', earlier.value) };
  let [past, length] = [first, held];
  return {
    version: names.version,
    reset() {
      [past, length] = [first, held]; // what shared rows hold behind these is written anew
    },
    async step() {
      const lastKey = tensor({ name: 'lastKey', type: 'int32', dims: [1], data: Int32Array.of(length) });
      const tokens = tensor({ name: 'tokens', type: 'int32', dims: [], data: Int32Array.of(length + 1) });
      const places = isShared ? { presentKey: past.pastKey, presentValue: past.pastValue } : undefined;
      const feeds = { x: token, ...past, lastKey, tokens };
      const results = places
        ? await session.run(feeds, { output: null, ...places })
        : await session.run(feeds);
      past = { pastKey: results.presentKey as typeof token, pastValue: results.presentValue as typeof token };
      length++;
      return results.output!.data as Float32Array;
    },
  };
}

export interface LayerInputs {
  readonly weights: LayerWeights;
  readonly earlier: EarlierTokens;
  readonly x: Float32Array;
  readonly capacity: number;
}

/** Queries, keys and values are one product; GroupQueryAttention turns and keeps them. */
function layerGraph(sizes: LayerSizes, weights: LayerWeights, capacity: number): OnnxGraph {
  const { width: E, heads, keyValueHeads, headDim: D } = sizes;
  const packed = sideBySide([weights.query, weights.key, weights.value], E);
  const table = (name: string, of: (angle: number) => number): Constant => ({
    ...value(name, [capacity, D / 2]),
    data: Float32Array.from({ length: (capacity * D) / 2 }, (_, n) => {
      const [position, pair] = [Math.floor(n / (D / 2)), n % (D / 2)];
      return of(position * 10_000 ** ((-2 * pair) / D));
    }),
  });
  const rows = (name: string): ModelValue => ({
    name,
    type: 'float32',
    dims: [1, keyValueHeads, `${name} rows`, D],
  });
  const attention = ['pastKey', 'pastValue', 'lastKey', 'tokens', 'cosines', 'sines'];
  return {
    nodes: [
      { op: 'MatMul', attributes: {}, inputs: ['x', 'projection'], outputs: ['heads'] },
      {
        op: 'GroupQueryAttention',
        domain: microsoft,
        attributes: { num_heads: heads, kv_num_heads: keyValueHeads, do_rotary: 1 },
        inputs: ['heads', undefined, undefined, ...attention],
        outputs: ['attended', 'presentKey', 'presentValue'],
      },
      { op: 'MatMul', attributes: {}, inputs: ['attended', 'outputProjection'], outputs: ['output'] },
    ],
    constants: [
      { ...value('projection', [E, packed.length / E]), data: packed },
      { ...value('outputProjection', [weights.output.length / E, E]), data: weights.output },
      table('cosines', Math.cos),
      table('sines', Math.sin),
    ],
    inputs: [
      value('x', [1, 1, E]),
      rows('pastKey'),
      rows('pastValue'),
      { name: 'lastKey', type: 'int32', dims: [1] },
      { name: 'tokens', type: 'int32', dims: [] },
    ],
    outputs: [value('output', [1, 1, E]), rows('presentKey'), rows('presentValue')],
  };
}

const value = (name: string, dims: readonly number[]) => ({ name, type: 'float32', dims }) as const;

/** Matrices of E rows as one. */
function sideBySide(matrices: readonly Float32Array[], E: number): Float32Array {
  const widths = matrices.map(({ length }) => length / E);
  const width = widths.reduce((sum, own) => sum + own, 0);
  const all = new Float32Array(E * width);
  for (let row = 0; row < E; row++) {
    let at = row * width;
    matrices.forEach((matrix, n) => {
      all.set(matrix.subarray(row * widths[n]!, (row + 1) * widths[n]!), at);
      at += widths[n]!;
    });
  }
  return all;
}

/** Each of H rows at the beginning of a longer one. */
function withRoom(data: Float32Array, H: number, size: number): Float32Array {
  const own = data.length / H;
  const all = new Float32Array(H * size);
  for (let h = 0; h < H; h++) all.set(data.subarray(h * own, (h + 1) * own), h * size);
  return all;
}
