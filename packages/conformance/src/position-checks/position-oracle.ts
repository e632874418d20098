// What a position method does to a layer, by its definition, in doubles.
import { tabulate } from '../inputs';
import { entryAt, type HostTensor, type OracleInputs, type OracleTable, type Sizes } from '../oracle';

type Weights = { readonly [name: string]: HostTensor };

/** Where tokens stand. */
export type Places = NonNullable<OracleInputs['positions']>;

export interface PositionOracle {
  /** What products are multiplied by where the config of the layer says nothing, from the size of a head. */
  scale?(D: number): number;
  /** A head at a place; what is given is not changed. */
  turn?(
    head: Float64Array,
    at: {
      readonly place: number;
      readonly h: number;
      readonly role: 'query' | 'key';
      readonly longest: number;
    },
    weights: Weights,
  ): Float64Array;
  /** `query` [B, Hq, Sq, D] is not turned. */
  tables?(
    weights: Weights,
    call: { readonly sizes: Sizes; readonly places: Places; readonly query: HostTensor },
  ): OracleInputs['relative'];
}

/** Where tokens stand: as given, or the last query at the last key. */
export function placesOf(
  { positions }: Pick<OracleInputs, 'positions'>,
  { Sq, Skv }: Pick<Sizes, 'Sq' | 'Skv'>,
): Places {
  return positions ?? { query: (_b, i) => Skv - Sq + i, key: (_b, j) => j };
}

/** Heads [B, H, S, D], each token's turned. */
export function turned(
  heads: HostTensor,
  role: 'query' | 'key',
  {
    position,
    weights,
    places,
  }: { readonly position?: PositionOracle; readonly weights: Weights; readonly places: Places },
): HostTensor {
  const turn = position?.turn;
  if (!turn) return heads;
  const [B, H, S, D] = heads.shape as [number, number, number, number];
  const longest =
    1 + Math.max(...Array.from({ length: B * S }, (_, n) => places[role](Math.floor(n / S), n % S)));
  const data = Float64Array.from(heads.data);
  for (let row = 0; row < B * H * S; row++) {
    const place = places[role](Math.floor(row / (H * S)), row % S);
    const head = heads.data.subarray(row * D, (row + 1) * D);
    data.set(turn(head, { place, h: Math.floor(row / S) % H, role, longest }, weights), row * D);
  }
  return { shape: heads.shape, data };
}

/** A table with a row for each distance between tokens, by what stands in it. */
export function tableOf(
  { sizes: { B, Sq, Skv }, places }: { readonly sizes: Sizes; readonly places: Places },
  [heads, ...width]: readonly number[],
  entry: (h: number, distance: number, d: number) => number,
): OracleTable {
  const distances = Array.from({ length: B * Sq * Skv }, (_, n) => {
    const [b, i, j] = [Math.floor(n / (Sq * Skv)), Math.floor(n / Skv) % Sq, n % Skv];
    return places.key(b, j) - places.query(b, i);
  });
  const [from, to] = [Math.min(...distances), Math.max(...distances)];
  const table = tabulate([heads!, to - from + 1, ...width], (h, r, d = 0) => entry(h!, from + r!, d));
  return { ...table, index: { from } };
}

/** The number of a weight at an index. */
export function weightAt(weights: Weights, name: string, ...at: readonly number[]): number {
  return entryAt(weights[name]!, at);
}
