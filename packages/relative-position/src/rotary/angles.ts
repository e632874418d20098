// cos and sin of every angle of a call: computed in doubles, kept in float32.
import { ShapeError, type TokenPositions } from '@polyhead/core';
import { entriesOf, numbersOf } from '../token-positions';
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
  readonly eachSection?: boolean | undefined;
  frequencies(length: number): RotaryFrequencies;
}

/** Of each token and pair: [entries, S, pairs]. */
export interface Angles {
  readonly entries: number; // 1 where all batch entries have the same positions
  readonly S: number;
  readonly cos: Float32Array;
  readonly sin: Float32Array;
}

/**
 * The positions of the tokens for each section, or once for all of them.
 *
 * @param at checked to fit the heads
 * @returns [entries, S] for each of `at`
 * @throws ShapeError for more or fewer positions of a token than there are sections
 */
export function positionsOfSections(
  where: string,
  at: readonly TokenPositions[],
  { sections, eachSection = false }: Rotation,
  S: number,
): readonly Int32Array[] {
  if (at.length !== sections.length && (eachSection || at.length !== 1)) {
    const rule = eachSection ? 'a position for each section' : 'one position, or one for each section';
    throw new ShapeError(where, `a token must have ${rule}`, {
      positions: at.length,
      sections: sections.length,
    });
  }
  let entries = 1;
  for (const positions of at) entries = Math.max(entries, entriesOf(positions, S));
  return at.map((positions) => numbersOf(positions, entries, S));
}

function anglesOf({ sections, frequencies }: Rotation, positions: readonly Int32Array[], S: number): Angles {
  const pairs = sections.reduce((sum, count) => sum + count, 0);
  const tokens = positions[0]!.length;
  const longest = positions.reduce((most, numbers) => numbers.reduce((a, b) => Math.max(a, b), most), 0);
  const { perPosition, factor } = frequencies(longest + 1);
  const [cos, sin] = [new Float32Array(tokens * pairs), new Float32Array(tokens * pairs)];
  let first = 0;
  sections.forEach((count, section) => {
    const ofSection = positions[positions.length === 1 ? 0 : section]!;
    for (let token = 0; token < tokens; token++) {
      for (let pair = first; pair < first + count; pair++) {
        const angle = ofSection[token]! * perPosition[pair]!;
        cos[token * pairs + pair] = factor * Math.cos(angle);
        sin[token * pairs + pair] = factor * Math.sin(angle);
      }
    }
    first += count;
  });
  return { entries: tokens / S, S, cos, sin };
}

/** The last angles again where tokens have the same positions: those of queries and keys, and of the next layer. */
export function rememberedAngles(
  rotation: Rotation,
): (positions: readonly Int32Array[], S: number) => Angles {
  let last: { readonly positions: readonly Int32Array[]; readonly angles: Angles } | undefined;
  return (positions, S) => {
    const known = last !== undefined && last.angles.S === S && areEqual(last.positions, positions);
    last = known ? last! : { positions, angles: anglesOf(rotation, positions, S) };
    return last.angles;
  };
}

function areEqual(some: readonly Int32Array[], others: readonly Int32Array[]): boolean {
  return (
    some.length === others.length &&
    some.every((one, n) => one.length === others[n]!.length && one.every((x, i) => x === others[n]![i]))
  );
}
