// The name of what a head's map looks like. The kinds are those of Kovaleva et al. 2019 (1908.08593) and Clark et al.
// 2019 (1906.04341), told apart by one measure:
//
//   concentration = (share on the pattern's cells - share an even head has there) / (1 - share an even head has there)
//
// which is 1 where all weight lies on the pattern, and 0 where no more lies on it than an even head would put there. A
// pattern is named from 0.5 on, if what it holds beyond an even head's share (its excess) is a quarter of the weight.
import type { Span } from '@polyhead/core';
import { bestBlocks } from './best-blocks';
import { entropyOf, meanOver, type QueryRow } from './query-rows';

/**
 * - `diagonal`: all queries look at one distance, such as the previous token
 * - `vertical`: all look at the same few keys, at most an eighth of them
 * - `horizontal`: each row is even over what it sees
 * - `block`: tokens look within their own block of consecutive tokens
 * - `local`: they look near themselves, at most an eighth of the keys away, and no more than 8
 * - `long-range`: they look further away than a quarter of the keys
 * - `mixed`: none of these, or too few rows to tell
 *
 * Named is what holds at least half of the weight that an even head would have elsewhere, and a quarter of all weight
 * more than an even head; a `horizontal` row is spread, by its entropy, over nine tenths of what it sees. Maps of
 * random scores of standard deviation 1 are `mixed` from 12 tokens on; shorter maps can look like something by chance.
 */
export type HeadPattern = 'diagonal' | 'vertical' | 'horizontal' | 'block' | 'local' | 'long-range' | 'mixed';

/** From these on a pattern is named. */
const leastConcentration = 0.5;
const leastExcess = 0.25;
/** How many of the keys that a row sees an even head is spread over, in effect. */
const leastSpread = 0.9;

/** A head with the number of its keys, and whether it is causal. */
interface Head {
  readonly rows: readonly QueryRow[];
  readonly keys: number;
  /** No row has weight after its own position: then an even head is even up to there. */
  readonly isCausal: boolean;
}

interface Measure {
  readonly concentration: number;
  /** Share on the pattern's cells beyond an even head's: of two patterns that hold all weight the tighter has more. */
  readonly excess: number;
}

const nothing: Measure = { concentration: 0, excess: 0 };

/** The cells of a pattern in a row, as ranges of keys. */
type Cells = (row: QueryRow) => readonly Span[];

/**
 * The first of diagonal, vertical and horizontal that holds; else of block, local and long-range the tightest that does.
 *
 * @param rows those that see something
 */
export function headPattern(rows: readonly QueryRow[], keys: number): HeadPattern {
  const isCausal = rows.every(({ position, shares }) => !shares.some((s, j) => s > 0 && j > position));
  const head = { rows, keys, isCausal };
  const holds = ({ concentration, excess }: Measure) =>
    concentration >= leastConcentration && excess >= leastExcess;
  if (diagonals(head).some((cells) => holds(measure(head, cells)))) return 'diagonal';
  if (holds(measure(head, strongestColumns(head)))) return 'vertical';
  if (spread(head) >= leastSpread) return 'horizontal';
  const wide: [HeadPattern, Measure][] = [
    ['block', blocks(head)],
    ['local', measure(head, near(head))],
    ['long-range', measure(head, far(head))],
  ];
  const holding = wide.filter(([, measured]) => holds(measured));
  return holding.sort(([, a], [, b]) => b.excess - a.excess)[0]?.[0] ?? 'mixed';
}

/** One for each distance that some row has. */
function diagonals({ rows, keys }: Head): Cells[] {
  if (keys < rows.length / 2) return []; // no row has a key twice, so most have none
  const [first, last] = [rows[0]?.position ?? 0, rows.at(-1)?.position ?? 0];
  return Array.from({ length: keys + last - first }, (_, n): Cells => {
    const distance = n - last;
    return ({ position }) => [[position + distance, position + distance + 1]];
  });
}

function near({ keys }: Head): Cells {
  const reach = Math.min(8, Math.max(1, Math.floor(keys / 8)));
  return ({ position }) => [[position - reach, position + reach + 1]];
}

function far({ keys }: Head): Cells {
  const reach = Math.floor(keys / 4);
  const before = (position: number): Span => [0, position - reach];
  const after = (position: number): Span => [position + reach + 1, keys];
  return ({ position }) => [before(position), after(position)];
}

function strongestColumns({ rows, keys }: Head): Cells {
  const count = Math.max(1, Math.floor(keys / 8));
  const mass = Array.from({ length: keys }, (_, j) => meanOver(rows, ({ shares }) => shares[j]!));
  const strongest = [...mass.keys()].sort((a, b) => mass[b]! - mass[a]!).slice(0, count);
  return () => strongest.map((j) => [j, j + 1]);
}

/** The effective number of keys, exp(entropy), over the number of keys seen; 0 where no row has a choice. */
function spread(head: Head): number {
  const choosing = head.rows.filter((row) => keysSeen(row, head) > 1);
  if (isTooFew(choosing.length, head)) return 0;
  return Math.exp(meanOver(choosing, (row) => entropyOf(row) - Math.log(keysSeen(row, head))));
}

function blocks(head: Head): Measure {
  const starts = bestBlocks(head.rows, head.keys, (row, key) => evenShare(row, [key, key + 1], head));
  // Blocks of one token are a diagonal.
  if (starts.length < 2 || starts.length > head.keys / 2) return nothing;
  return measure(head, ({ position }) => {
    const block = starts.filter((start) => start <= position).length - 1;
    return block < 0 ? [] : [[starts[block]!, starts[block + 1] ?? head.keys]];
  });
}

/** Over the rows that can be on the pattern or off it; nothing where those are fewer than two, or than half of all. */
function measure(head: Head, cells: Cells): Measure {
  let [telling, on, even] = [0, 0, 0];
  for (const row of head.rows) {
    const spans = cells(row);
    const expected = spans.reduce((sum, span) => sum + evenShare(row, span, head), 0);
    if (expected <= 0 || expected >= 1) continue;
    telling++;
    even += expected;
    on += spans.reduce((sum, span) => sum + shareOf(row, span), 0);
  }
  if (isTooFew(telling, head)) return nothing;
  return { concentration: (on - even) / (telling - even), excess: (on - even) / telling };
}

const isTooFew = (count: number, { rows }: Head) => count < Math.max(2, rows.length / 2);

const keysSeen = ({ position }: QueryRow, { keys, isCausal }: Head) =>
  isCausal ? Math.min(keys, position + 1) : keys;

function shareOf({ shares }: QueryRow, [from, to]: Span): number {
  let sum = 0;
  for (let j = Math.max(0, from); j < Math.min(shares.length, to); j++) sum += shares[j]!;
  return sum;
}

/** The share that an even head has on a range of keys. */
function evenShare(row: QueryRow, [from, to]: Span, head: Head): number {
  const seen = keysSeen(row, head);
  return Math.max(0, Math.min(to, seen) - Math.max(from, 0)) / seen;
}
