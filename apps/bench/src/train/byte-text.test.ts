import { expect, it } from 'vitest';
import { mobyDickChapters } from '../published/moby-dick';
import { evenWindows, mobyDickBytes, randomWindows } from './byte-text';

const windows = { batch: 3, length: 10 };
const digits = Uint8Array.from({ length: 100 }, (_, n) => n);

it('reads the whole book, its last five chapters apart', () => {
  const { training, heldOut } = mobyDickBytes();
  const end = mobyDickChapters().at(-5)!.trim();
  expect(new TextDecoder().decode(heldOut).startsWith(end)).toBe(true);
  expect(new TextDecoder().decode(training)).not.toContain(end);
  expect(training.length).toBeGreaterThan(1_000_000);
});

it('draws windows of neighbours, the same ones for a seed', () => {
  const [one, same, other] = [5, 5, 6].map((seed) => randomWindows(digits, windows, seed));
  const batches = [one!(), one!()];
  for (const [first, ...rest] of batches.flat()) expect(rest).toEqual(rest.map((_, n) => first! + n + 1));
  expect(batches.flat().map((row) => row.length)).toEqual(Array(6).fill(11));
  expect([same!(), same!()]).toEqual(batches);
  expect(other!()).not.toEqual(batches[0]);
  expect(batches[1]).not.toEqual(batches[0]);
});

it('lays windows evenly from the first byte to the last but one', () => {
  const starts = evenWindows(digits, windows, 2).map((rows) => rows.map((row) => row[0]));
  expect(starts).toEqual([
    [0, 17, 35],
    [53, 71, 89],
  ]);
});
