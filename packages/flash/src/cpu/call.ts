// The numbers of a call on the host, and the sizes of its tiles.
import type { CallSizes, KernelCall, MaskPlan, Positions, Span } from '@polyhead/core';
import type { CallTensors } from '@polyhead/core/kernel';
import type * as tf from '@tensorflow/tfjs-core';
import type { TileSizes } from '../kernel-options';
import { storedRuns } from '../stored-runs';
import { type Tables, tablesOnHost } from './lookup';
import {
  type Piece,
  pieceOfPart,
  pieceOfTensor,
  type RowReader,
  rowReader,
  runsOfTensor,
} from './row-reader';

/** Some of the query rows of a call. */
export interface QueryPart {
  readonly heads: readonly number[];
  readonly rows: Span;
}

/** Numbers that stand for [B, Hq, Sq, Skv], axes of size 1 serving every index. */
export interface Broadcast {
  readonly numbers: ArrayLike<number>;
  /** Where the numbers of a query row begin. */
  rowAt(b: number, h: number, i: number): number;
  /** From one key to the next: 0 where all share one number. */
  readonly perKey: 0 | 1;
}

export interface Call {
  readonly sizes: CallSizes;
  readonly G: number; // query heads that share a key/value head
  readonly tile: TileSizes;
  /** The query rows that are computed. Absent: all. */
  readonly only?: QueryPart;
  readonly scale: number;
  readonly softcap: number; // 0: off
  readonly plan: MaskPlan;
  readonly order: Positions;
  readonly positions: Positions;
  readonly query: ArrayLike<number>; // [B, Hq, Sq, D]
  readonly keys: RowReader;
  readonly values: RowReader;
  readonly bias?: Broadcast;
  readonly dense: readonly Broadcast[];
  readonly sinkLogits?: ArrayLike<number>; // [Hq]
  readonly dropout?: { readonly rate: number; readonly seed: number };
  readonly tables: Tables;
}

/** @param tensors those of the call, or what a tape has saved of them */
export function callOnHost(call: KernelCall, tensors: CallTensors, tile: TileSizes): Call {
  const { sizes, softcap = 0, plan, order, positions, dropout } = call;
  const { query, bias, sinkLogits } = tensors;
  const { inputs } = call;
  const runsOf = (b: number) =>
    inputs.stored ? storedRuns(inputs.stored, b) : runsOfTensor(tensors.key!, b);
  return {
    sizes,
    G: sizes.Hq / sizes.Hkv,
    tile: { ...tile, keys: Math.max(1, Math.min(tile.keys, sizes.Skv)) },
    scale: Math.fround(call.scale) === 0 ? 0 : call.scale, // float32, as in every kernel
    softcap,
    plan,
    order,
    positions,
    query: query.dataSync(),
    keys: rowReader(() => piecesOf(call, tensors, 'key'), runsOf, sizes.D),
    values: rowReader(() => piecesOf(call, tensors, 'value'), runsOf, sizes.Dv),
    dense: plan.dense.map(broadcast),
    tables: tablesOnHost(call.relative, tensors),
    ...(bias && { bias: broadcast(bias) }),
    ...(sinkLogits && { sinkLogits: sinkLogits.dataSync() }),
    ...(dropout && dropout.rate > 0 && { dropout }),
  };
}

/** The same call as far as its weights need it: no values, no dropout. */
export function weightsOnly({ dropout: _, ...call }: Call): Call {
  const { valueTable: __, ...tables } = call.tables;
  return { ...call, sizes: { ...call.sizes, Dv: 0 }, values: { read: () => {} }, tables };
}

function piecesOf({ inputs }: KernelCall, tensors: CallTensors, kind: 'key' | 'value'): readonly Piece[] {
  const { stored } = inputs;
  return stored ? stored.parts.map((part) => pieceOfPart(part, kind)) : [pieceOfTensor(tensors[kind]!)];
}

function broadcast(tensor: tf.Tensor4D): Broadcast {
  const [B, H, S, K] = tensor.shape;
  return {
    numbers: tensor.dataSync(),
    rowAt: (b, h, i) => (((B === 1 ? 0 : b) * H + (H === 1 ? 0 : h)) * S + (S === 1 ? 0 : i)) * K,
    perKey: K === 1 ? 0 : 1,
  };
}
