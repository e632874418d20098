// cos and sin of every angle of a call: computed in doubles, kept in float32.
import { ShapeError, type TokenPositions } from '@polyhead/core';
import { entriesOf, placesOf } from '../token-places';
import type { RotaryFrequencies } from './frequencies';

/** How heads are turned: which numbers are pairs, how fast each pair turns, and by which position. */
export interface Rotation {
  /** D; numbers beyond the pairs stay as they are. */
  readonly headDim: number;
  /** Pairs (2i, 2i + 1) in place of (i, i + pairs). */
  readonly interleaved: boolean;
  /** How many pairs each position of a token turns, in order. */
  readonly sections: readonly number[];
  /** A token must have a position for each section; else one may do for all. */
  readonly eachSection?: boolean;
  frequencies(length: number): RotaryFrequencies;
}

/** Of each token and pair: [entries, S, pairs]. */
export interface Angles {
  readonly entries: number; // 1 where all batch entries stand at the same positions
  readonly S: number;
  readonly cos: Float32Array;
  readonly sin: Float32Array;
}

/**
 * Where tokens stand: for each section, or once for all of them.
 *
 * @returns [entries, S] for each of `at`
 * @throws ShapeError where heads cannot stand at these
 */
export function placesOfSections(
  where: string,
  at: readonly TokenPositions[],
  { sections, eachSection = false }: Rotation,
  [B, S]: readonly [number, number],
): readonly Int32Array[] {
  if (at.length !== sections.length && (eachSection || at.length !== 1)) {
    const rule = eachSection ? 'a position for each section' : 'one position, or one for each section';
    throw new ShapeError(where, `a token must have ${rule}`, {
      positions: at.length,
      sections: sections.length,
    });
  }
  const entries = Math.max(...at.map((positions) => entriesOf(where, positions, [B, S])));
  return at.map((positions) => placesOf(positions, entries, S));
}

export function anglesOf(
  { sections, frequencies }: Rotation,
  places: readonly Int32Array[],
  S: number,
): Angles {
  const pairs = sections.reduce((sum, count) => sum + count, 0);
  const tokens = places[0]!.length;
  const longest = places.reduce((most, place) => place.reduce((a, b) => Math.max(a, b), most), 0);
  const { perPosition, factor } = frequencies(longest + 1);
  const [cos, sin] = [new Float32Array(tokens * pairs), new Float32Array(tokens * pairs)];
  let first = 0;
  sections.forEach((count, section) => {
    const place = places[places.length === 1 ? 0 : section]!;
    for (let token = 0; token < tokens; token++) {
      for (let pair = first; pair < first + count; pair++) {
        const angle = place[token]! * perPosition[pair]!;
        cos[token * pairs + pair] = factor * Math.cos(angle);
        sin[token * pairs + pair] = factor * Math.sin(angle);
      }
    }
    first += count;
  });
  return { entries: tokens / S, S, cos, sin };
}

/** The last angles again where tokens stand at the same places: those of queries and keys, and of the next layer. */
export function rememberedAngles(rotation: Rotation): (places: readonly Int32Array[], S: number) => Angles {
  let last: { readonly places: readonly Int32Array[]; readonly angles: Angles } | undefined;
  return (places, S) => {
    const known = last !== undefined && last.angles.S === S && areEqual(last.places, places);
    last = known ? last! : { places, angles: anglesOf(rotation, places, S) };
    return last.angles;
  };
}

function areEqual(some: readonly Int32Array[], others: readonly Int32Array[]): boolean {
  return (
    some.length === others.length &&
    some.every((one, n) => one.length === others[n]!.length && one.every((x, i) => x === others[n]![i]))
  );
}
