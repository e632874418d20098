import { expect, it } from 'vitest';
import { cellLike } from '../matrix/fixtures/cell';
import { baseOf, linesOf, overLengths } from './cell-lines';

it('draws no line for the best kernel by its own name', () => {
  const cells = [
    cellLike(),
    cellLike({ tokens: 64 }),
    cellLike({ kernel: 'flashWasm' }),
    cellLike({ kernel: 'composed', ran: 'composed' }),
  ];
  expect(linesOf(cells, baseOf(cells)).map(({ name }) => name)).toEqual(['multi-head', 'composed']);
});

it('keeps a line alone where it goes on behind the end of others', () => {
  const turns = (name: string, lengths: readonly number[], variants: readonly string[]) =>
    variants.flatMap((variant) => lengths.map((tokens) => cellLike({ turns: name, tokens, variant })));
  const pair = turns('variants and lengths', [64, 1024], ['multi-head', 'grouped-8']);
  const groupsOf = (longest: number) =>
    overLengths([...turns('lengths', [64, longest], ['multi-head']), ...pair]).map(([cell]) => cell!.turns);
  expect(groupsOf(1024)).toEqual(['variants and lengths']);
  expect(groupsOf(2048)).toEqual(['lengths', 'variants and lengths']);
});

it('shows no cell that nothing stands beside, unless there is no other', () => {
  const alone = cellLike({ turns: 'layers' });
  const pair = [cellLike({ turns: 'kernels' }), cellLike({ turns: 'kernels', kernel: 'composed' })];
  expect(overLengths([alone, ...pair])).toEqual([pair]);
  expect(overLengths([alone])).toEqual([[alone]]);
});
