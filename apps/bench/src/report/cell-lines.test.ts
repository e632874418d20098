import { expect, it } from 'vitest';
import { cellLike } from '../matrix/fixtures/cell';
import { baseOf, linesOf, picturesOf, rowsOf } from './cell-lines';

it('names lines by the one choice in which they differ, kernels by their own names', () => {
  const cells = [
    cellLike({ kernel: 'flash plain' }),
    cellLike(),
    cellLike({ tokens: 64 }),
    cellLike({ kernel: 'composed', ran: 'composed' }),
  ];
  const namesOf = (lines: readonly { readonly name: string }[]) => lines.map(({ name }) => name);
  expect(namesOf(linesOf(cells, baseOf(cells)))).toEqual(['best: flashWasm', 'flash plain', 'composed']);
  const more = [...cells, cellLike({ variant: 'grouped-8' })];
  expect(namesOf(linesOf(more, baseOf(more)))).toEqual([
    'multi-head',
    'flash plain',
    'composed',
    'grouped-8',
  ]);
});

it('keeps a line alone where it goes on behind the end of others', () => {
  const turns = (name: string, lengths: readonly number[], variants: readonly string[]) =>
    variants.flatMap((variant) => lengths.map((tokens) => cellLike({ turns: name, tokens, variant })));
  const pair = turns('variants and lengths', [64, 1024], ['multi-head', 'grouped-8']);
  const groupsOf = (longest: number) =>
    picturesOf([...turns('lengths', [64, longest], ['multi-head']), ...pair]).lines.map(
      ([cell]) => cell!.turns,
    );
  expect(groupsOf(1024)).toEqual(['variants and lengths']);
  expect(groupsOf(2048)).toEqual(['lengths', 'variants and lengths']);
});

it('draws no cell that nothing stands beside, and nothing that a larger picture has', () => {
  const alone = cellLike({ turns: 'layers' });
  const pair = ['best', 'composed'].map((kernel) => cellLike({ turns: 'kernels', kernel }));
  expect(picturesOf([alone, ...pair])).toEqual({ lines: [], rows: [pair] });
  const lines = pair.flatMap((cell) =>
    [64, 1024].map((tokens) => ({ ...cell, tokens, turns: 'and lengths' })),
  );
  expect(picturesOf([...pair, ...lines])).toEqual({ lines: [lines], rows: [] });
  const four = ['none', 'static'].flatMap((cache) =>
    pair.map((cell) => ({ ...cell, cache, turns: 'and caches' })),
  );
  expect(picturesOf([...pair, ...four])).toEqual({ lines: [], rows: [four] });
});

it('tells the axis of fewer values by colors', () => {
  const cells = ['growing', 'static', 'ring'].flatMap((cache) =>
    ['best', 'composed'].map((kernel) => cellLike({ cache, kernel, ran: kernel })),
  );
  const { names, series } = rowsOf(cells);
  expect(names).toEqual(['growing cache', 'static cache', 'ring cache']);
  expect(series.map(({ name, marks }) => [name, marks.map(({ row }) => row)])).toEqual([
    ['best: best', [0, 1, 2]],
    ['composed', [0, 1, 2]],
  ]);
});
