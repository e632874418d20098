// What a position method takes: parameters, its tables in a call, and the most that a forward pass holds at once.
import { peakBytes } from '@polyhead/conformance/memory';
import { causal, type RelativeTables } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import {
  type ComparedPosition,
  type CreatedPosition,
  headDimOf,
  type PositionShape,
} from '../axes/positions';

export interface PositionMemory {
  readonly parameters: number;
  /** Of tables by distance, or of angles, in a call of all tokens. */
  readonly tableBytes: number;
  /** Of tensors that live at once in the first call of all tokens, beyond weights and input. */
  readonly peakBytes: number;
  /** The same of a layer with one such head: what a vector for each pair is set beside. */
  readonly headPeakBytes: number;
}

const mask = causal();
const floatBytes = 4;

/** Of layers of its own, so that nothing is kept from earlier calls. */
export function measureMemory(compared: ComparedPosition | undefined, shape: PositionShape): PositionMemory {
  const layer = createPositioned(compared, shape);
  const oneHead = createPositioned(compared, { ...shape, embedDim: headDimOf(shape), numHeads: 1 });
  const variables = layer.method?.position.variables ?? [];
  const peaks = { peakBytes: peakOf(layer), headPeakBytes: peakOf(oneHead) }; // of first calls
  const memory = {
    parameters: variables.reduce((sum, { variable }) => sum + variable.size, 0),
    tableBytes: tableBytesOf(layer),
    ...peaks,
  };
  for (const { attention, method } of [layer, oneHead]) {
    attention.dispose();
    method?.position.dispose();
  }
  return memory;
}

interface PositionedLayer {
  readonly shape: PositionShape;
  readonly attention: MultiHeadAttention;
  /** Absent in a layer without positions. */
  readonly method?: CreatedPosition | undefined;
}

function createPositioned(compared: ComparedPosition | undefined, shape: PositionShape): PositionedLayer {
  const { embedDim, numHeads } = shape;
  const method = compared?.create(shape);
  const parts = method ? { position: method.position } : {};
  return { shape, attention: new MultiHeadAttention({ embedDim, numHeads, seed: 1 }, parts), method };
}

function peakOf({ attention, shape }: PositionedLayer): number {
  const query = tf.randomNormal<tf.Rank.R3>([1, shape.longest, shape.embedDim], 0, 1, 'float32', 3);
  const peak = peakBytes(() => {
    attention.apply({ query }, { mask });
  });
  query.dispose();
  return peak;
}

/** A vector of a head's size for each pair, which the formula of Shaw et al. holds where it is written down as it reads. */
export function naiveBytes(shape: PositionShape): number {
  return shape.longest ** 2 * headDimOf(shape) * floatBytes;
}

function tableBytesOf({ method, shape }: PositionedLayer): number {
  const { longest, numHeads } = shape;
  const angleBytes = (method?.angles ?? 0) * longest * floatBytes;
  return tf.tidy(() => {
    const query = tf.zeros<tf.Rank.R4>([1, numHeads, longest, headDimOf(shape)]);
    const tables: RelativeTables = method?.position.tables?.(query, [1 - longest, longest]) ?? {};
    const sizes = Object.values(tables).map(({ table }) => table.size * floatBytes);
    return sizes.reduce((sum, bytes) => sum + bytes, angleBytes);
  });
}
