// The numbers of a call on the host, and the sizes of its tiles.
import type { KernelCall, MaskPlan, Positions, Span } from '@polyhead/core';
import type { CallTensors } from '@polyhead/core/kernel';
import { storedRuns } from '../stored-runs';
import type { TileSizes } from '../tile-options';
import { type Broadcast, broadcast } from './broadcast';
import { type HostTables, hostTables } from './host-tables';
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

export interface Sizes {
  readonly B: number;
  readonly Hq: number;
  readonly Hkv: number;
  readonly G: number; // query heads that share a key/value head
  readonly Sq: number;
  readonly Skv: number;
  readonly D: number;
  readonly Dv: number;
}

export interface HostCall {
  readonly sizes: Sizes;
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
  readonly tables: HostTables;
}

/** @param tensors those of the call, or what a tape has saved of them */
export function hostCall(call: KernelCall, tensors: CallTensors, tile: TileSizes): HostCall {
  const { softcap = 0, plan, order, positions, dropout } = call;
  const { query, bias, sinkLogits } = tensors;
  const { inputs } = call;
  const sizes = sizesOf(call, tensors);
  const runsOf = (b: number) =>
    inputs.stored ? storedRuns('flash', inputs.stored, b) : runsOfTensor(tensors.key!, b);
  return {
    sizes,
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
    tables: hostTables(call.relative, tensors),
    ...(bias && { bias: broadcast(bias) }),
    ...(sinkLogits && { sinkLogits: sinkLogits.dataSync() }),
    ...(dropout && dropout.rate > 0 && { dropout }),
  };
}

/** The same call as far as its weights need it: no values, no dropout. */
export function weightsOnly({ dropout: _, ...call }: HostCall): HostCall {
  const { values: __, ...tables } = call.tables;
  return { ...call, sizes: { ...call.sizes, Dv: 0 }, values: { read: () => {} }, tables };
}

function sizesOf({ inputs }: KernelCall, { query, key, value }: CallTensors): Sizes {
  const [B, Hq, Sq, D] = query.shape;
  const { stored } = inputs;
  const Hkv = stored?.heads ?? key!.shape[1];
  const Skv = stored ? Math.max(0, ...stored.lengths) : key!.shape[2];
  return { B, Hq, Hkv, G: Hq / Hkv, Sq, Skv, D, Dv: stored?.valueSize ?? value!.shape[3] };
}

function piecesOf({ inputs }: KernelCall, tensors: CallTensors, kind: 'key' | 'value'): readonly Piece[] {
  const { stored } = inputs;
  return stored ? stored.parts.map((part) => pieceOfPart(part, kind)) : [pieceOfTensor(tensors[kind]!)];
}
