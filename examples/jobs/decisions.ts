// Decisions: a decision transformer (Chen et al. 2021, arXiv 2106.01345) in a world of 5 by 5 squares. It sees random walks only,
// each with the steps that are left until its end, which is called the goal. Asked for few steps it walks straight, which no walk
// that it has seen was meant to do; asked for many it wanders.
import { flash } from '@polyhead/flash';
import { textHeadMaps } from '@polyhead/inspect';
import { MultiHeadAttention } from '@polyhead/multi-head';
import { sinusoidal } from '@polyhead/relative-position';
import { Decoder } from '@polyhead/transformer';
import { crossEntropy, ignored } from '@polyhead/transformer/training';
import * as tf from '@tensorflow/tfjs';
import type { Results } from './results';
import { idsOf, mapsOf, type Random, randomFrom, type Tell, train } from './train';

const width = 5;
const squares = width * width;
const longest = 8;
const moves = [
  { name: 'up', x: 0, y: -1 },
  { name: 'down', x: 0, y: 1 },
  { name: 'left', x: -1, y: 0 },
  { name: 'right', x: 1, y: 0 },
];
// Tokens: the goal, squares, steps that are left, moves.
const goalOf = (square: number) => square;
const at = (square: number) => squares + square;
const left = (steps: number) => 2 * squares + steps;
const moved = (move: number) => 2 * squares + longest + 1 + move;
const vocabularySize = 2 * squares + longest + 1 + moves.length;

/** The square behind a move; a wall keeps you where you are. */
function after(square: number, move: number): number {
  const { x, y } = moves[move]!;
  const [column, row] = [(square % width) + x, Math.floor(square / width) + y];
  return column < 0 || row < 0 || column >= width || row >= width ? square : row * width + column;
}

const distance = (one: number, other: number) =>
  Math.abs((one % width) - (other % width)) + Math.abs(Math.floor(one / width) - Math.floor(other / width));

/** A random walk told as goal, then (steps left, square, move) again and again: [1 + 3 · longest]. */
function drawWalk(random: Random) {
  const steps = 1 + random(longest);
  const start = random(squares);
  const path = [start];
  const made = Array.from({ length: steps }, () => {
    const move = random(moves.length);
    path.push(after(path.at(-1)!, move));
    return move;
  });
  const goal = path.at(-1)!;
  const row = [goalOf(goal), ...made.flatMap((move, n) => [left(steps - n), at(path[n]!), moved(move)])];
  const targets = row.map((_, n) => (n % 3 === 2 ? row[n + 1]! : ignored)); // behind each square its move
  const missing = 1 + 3 * longest - row.length;
  return {
    row: [...row, ...new Array<number>(missing).fill(0)],
    targets: [...targets, ...new Array<number>(missing).fill(ignored)],
  };
}

/** Walks from each start towards its goal, told how many steps are left. @returns how many it needed; `longest + 1` where it never came */
function walk(model: Decoder, journeys: readonly { start: number; goal: number; steps: number }[]) {
  const rows = journeys.map(({ goal }) => [goalOf(goal)]);
  const places = journeys.map(({ start }) => start);
  const needed = journeys.map(() => longest + 1);
  for (let n = 0; n < longest; n++) {
    for (const [b, { steps }] of journeys.entries())
      rows[b]!.push(left(Math.max(steps - n, 1)), at(places[b]!));
    const chosen = tf.tidy(() => {
      const { logits } = model.apply(idsOf(rows), { logits: 'last' });
      const ofMoves = tf.slice(logits, [0, 0, moved(0)], [-1, 1, moves.length]);
      return tf.argMax(ofMoves, 2).arraySync() as number[][];
    });
    journeys.forEach(({ goal }, b) => {
      const move = chosen[b]![0]!;
      rows[b]!.push(moved(move));
      places[b] = after(places[b]!, move);
      if (places[b] === goal) needed[b] = Math.min(needed[b]!, n + 1);
    });
  }
  return { needed, rows };
}

/** @returns the share of journeys made in the fewest steps there are; that of random walks; and what the heads read before a move */
export function decisions({
  steps = 700,
  tell = () => {},
}: {
  readonly steps?: number;
  readonly tell?: Tell;
} = {}) {
  const embedDim = 48;
  const model = new Decoder(
    {
      vocabularySize,
      embedDim,
      numLayers: 2,
      norm: { kind: 'rms' },
      feedForward: { hiddenDim: 96, activation: 'relu' },
      seed: 1,
    },
    {
      attention: (parts) =>
        new MultiHeadAttention({ embedDim, numHeads: 4, seed: 1 }, { ...parts, kernel: flash() }),
      positions: sinusoidal({ embedDim }),
    },
  );
  const random = randomFrom(1);
  train(
    model.variables,
    () => {
      const walks = Array.from({ length: 24 }, () => drawWalk(random));
      return crossEntropy(
        model.apply(idsOf(walks.map(({ row }) => row))).logits,
        walks.map(({ targets }) => targets),
      );
    },
    { steps, peak: 0.004, tell },
  );
  // Every journey there is of 2 to 6 steps.
  const journeys = [...Array(squares * squares).keys()]
    .map((n) => ({ start: n % squares, goal: Math.floor(n / squares) }))
    .map((journey) => ({ ...journey, steps: distance(journey.start, journey.goal) }))
    .filter(({ steps: fewest }) => fewest >= 2 && fewest <= 6);
  const { needed, rows } = walk(model, journeys);
  const right = needed.filter((count, b) => count === journeys[b]!.steps).length / journeys.length;
  const luck = randomFrom(2);
  const lucky = journeys.filter(({ start, goal, steps: fewest }) => {
    let place = start;
    for (let n = 0; n < fewest; n++) place = after(place, luck(moves.length));
    return place === goal;
  });
  const shown = rows[journeys.findIndex(({ steps: fewest }) => fewest === 4)]!.slice(0, 1 + 3 * 4);
  const maps = mapsOf((kernel) => model.apply(idsOf([shown]), { kernel }));
  model.dispose();
  return {
    right,
    byLuck: lucky.length / journeys.length,
    journeys: journeys.length,
    shown: shown.map(nameOf),
    heads: maps.at(-1)!,
  };
}

function nameOf(token: number): string {
  if (token < squares) return `goal ${token % width},${Math.floor(token / width)}`;
  if (token < 2 * squares) return `at ${(token - squares) % width},${Math.floor((token - squares) / width)}`;
  return token < moved(0) ? `${token - left(0)} left` : moves[token - moved(0)]!.name;
}

/** Learns, says how well, and gives what is kept. */
export function show(tell: Tell): Partial<Results> {
  const { right, byLuck, journeys, shown, heads } = decisions({ tell });
  tell(
    `${(100 * right).toFixed(1)} % of all ${journeys} journeys of 2 to 6 steps are made in the fewest steps there are, by luck ${(100 * byLuck).toFixed(1)} %`,
  );
  tell('What each head of the last block reads, a row for each token:');
  for (const line of textHeadMaps(heads, { queries: shown, width: 110 }).lines) tell(line);
  return { decisions: { right, byLuck, journeys } };
}
