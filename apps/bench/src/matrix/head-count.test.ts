import { expect, it } from 'vitest';
import { registries } from '../axes/registries';
import { cellLike } from './fixtures/cell';
import { countHeads, headCountLines, headRegistries } from './head-count';
import { measureCells } from './measure-cells';

it('has one layer for each number of heads that divides the width', () => {
  expect(headRegistries(512).layers.map(({ config }) => config.numHeads)).toEqual([1, 2, 4, 8, 16, 32, 64]);
  expect(headRegistries(24).layers.map(({ name }) => name)).toEqual([
    '1 head',
    '2 heads',
    '4 heads',
    '8 heads',
  ]);
});

it('measures the same parameters and operations in any number of heads', async () => {
  const own = headRegistries(24, registries);
  const cells = own.layers.map(({ name: layer }) => ({
    ...{ layer, variant: 'multi-head', position: 'none', kernel: 'best', cache: 'none', backend: 'wasm' },
    ...{ phase: 'prefill' as const, tokens: 10, batch: 1 },
  }));
  const measured = await measureCells({ cells, samples: 2 }, { registries: own });
  expect(new Set(measured.cells.map(({ parameters }) => parameters))).toEqual(new Set([4 * 24 * 24]));
  const flop = 2 * 10 * 4 * 24 * 24 + 2 * 2 * 55 * 24;
  expect(new Set(measured.cells.map((cell) => cell.flop))).toEqual(new Set([flop]));
  const rows = headCountLines(own, measured, 200).slice(2, 6);
  expect(rows.map((row) => row.trim().split(/ +/).slice(0, 3))).toEqual([
    ['1', '24', '2,304'],
    ['2', '12', '2,304'],
    ['4', '6', '2,304'],
    ['8', '3', '2,304'],
  ]);
});

it('says what is not there', () => {
  const own = headRegistries(24);
  const cell = cellLike({ layer: '1 head', phase: 'prefill', cache: 'none', flop: 5e8 });
  const { time: _, ...at } = cell;
  const absent = [{ ...at, layer: '2 heads', why: 'refused' as const, reason: 'too small' }];
  const lines = headCountLines(own, { cells: [cell], absent }, 200);
  expect(lines).toContain('no prefill of 2 heads by best: too small');
  expect(lines[2]).toMatch(/0\.50 +10\.0 \(1\.00 ×\) +– +– +– /);
});

it('refuses a width that is odd', async () => {
  const options = { width: 7, tokens: 8, quick: true };
  await expect(countHeads(options, {} as never)).rejects.toThrow('--width 7 does not divide into 2 heads');
});
