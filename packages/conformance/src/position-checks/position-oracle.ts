// What a position method does to a layer, by its definition, in doubles.
import { tabulate } from '../inputs';
import { entryAt, type HostTensor, type OracleInputs, type OracleTable, type Sizes } from '../oracle';

type Weights = { readonly [name: string]: HostTensor };

/** The position of each token. */
export type HostPositions = NonNullable<OracleInputs['positions']>;

/** A position method by its definition, for `layerOracle`. */
export interface PositionOracle {
  /** What products are multiplied by where the config of the layer says nothing, from the size of a head. */
  scale?(D: number): number;
  /** A head at a position, in an array of its own. */
  rotate?(
    head: Float64Array,
    at: {
      readonly position: number;
      readonly h: number;
      readonly role: 'query' | 'key';
      readonly longest: number;
    },
    weights: Weights,
  ): Float64Array;
  /** Tables with a row for each distance of the call; `query` [B, Hq, Sq, D] is not rotated. */
  tables?(
    weights: Weights,
    call: { readonly sizes: Sizes; readonly positions: HostPositions; readonly query: HostTensor },
  ): OracleInputs['relative'];
}

/** The positions of a call: its own, or the last query at the last key. */
export function hostPositionsOf(
  { positions }: Pick<OracleInputs, 'positions'>,
  { Sq, Skv }: Pick<Sizes, 'Sq' | 'Skv'>,
): HostPositions {
  return positions ?? { query: (_b, i) => Skv - Sq + i, key: (_b, j) => j };
}

/** Heads [B, H, S, D], each token's rotated. */
export function rotated(
  heads: HostTensor,
  role: 'query' | 'key',
  {
    position,
    weights,
    positions,
  }: { readonly position?: PositionOracle; readonly weights: Weights; readonly positions: HostPositions },
): HostTensor {
  const rotate = position?.rotate;
  if (!rotate) return heads;
  const [B, H, S, D] = heads.shape as [number, number, number, number];
  const longest =
    1 + Math.max(...Array.from({ length: B * S }, (_, n) => positions[role](Math.floor(n / S), n % S)));
  const data = Float64Array.from(heads.data);
  for (let row = 0; row < B * H * S; row++) {
    const at = positions[role](Math.floor(row / (H * S)), row % S);
    const head = heads.data.subarray(row * D, (row + 1) * D);
    data.set(rotate(head, { position: at, h: Math.floor(row / S) % H, role, longest }, weights), row * D);
  }
  return { shape: heads.shape, data };
}

/** A table with a row for each distance between tokens, by what stands in it. */
export function tableOf(
  { sizes: { B, Sq, Skv }, positions }: { readonly sizes: Sizes; readonly positions: HostPositions },
  [heads, ...width]: readonly number[],
  entry: (h: number, distance: number, d: number) => number,
): OracleTable {
  const distances = Array.from({ length: B * Sq * Skv }, (_, n) => {
    const [b, i, j] = [Math.floor(n / (Sq * Skv)), Math.floor(n / Skv) % Sq, n % Skv];
    return positions.key(b, j) - positions.query(b, i);
  });
  const [from, to] = [Math.min(...distances), Math.max(...distances)];
  const rows = Math.max(0, to - from + 1); // none where there are no tokens
  const table = tabulate([heads!, rows, ...width], (h, r, d = 0) => entry(h!, from + r!, d));
  return { ...table, index: { from } };
}

/** The number of a weight at an index. */
export function weightAt(weights: Weights, name: string, ...at: readonly number[]): number {
  return entryAt(weights[name]!, at);
}
