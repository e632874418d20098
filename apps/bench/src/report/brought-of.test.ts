import { expect, it } from 'vitest';
import { broughtOf } from './brought-of';
import { exampleResult } from './fixtures/example-result';

const result = exampleResult();
const cellOf = (wanted: Partial<(typeof result.cells)[number]>) =>
  result.cells.find((cell) =>
    Object.entries(wanted).every(([name, value]) => cell[name as keyof typeof cell] === value),
  )!;

it('compares cells that differ in one choice, with the longest context that has all', () => {
  const brought = broughtOf(result)!;
  const shared = { phase: 'decode', layer: 'gpt-2', cache: 'static' } as const;
  const kernels = ['composed', 'best'].map((kernel) =>
    cellOf({ ...shared, kernel, variant: 'multi-head', tokens: 1024 }),
  );
  expect(brought.kernel!.speedUp).toBe(kernels[0]!.time.median / kernels[1]!.time.median);
  const [full, fewer] = ['multi-head', 'grouped-6'].map((variant) =>
    cellOf({ ...shared, variant, kernel: 'best', tokens: 1024 }),
  );
  expect(brought.heads).toMatchObject({
    from: { keyValueHeads: 12, milliseconds: full!.time.median },
    to: { keyValueHeads: 6, milliseconds: fewer!.time.median },
  });
  expect(brought.outweighs).toEqual([
    { keyValueHeads: 12, tokens: 1537 },
    { keyValueHeads: 6, tokens: 2305 },
  ]);
  expect(brought.tokens).toBe(1024);
});

it('tells no kernel from itself, where the best one is composed', () => {
  const cells = result.cells.map((cell) => ({ ...cell, ran: 'composed' }));
  const { kernel, heads } = broughtOf({ ...result, cells })!;
  expect(kernel).toBeUndefined();
  expect(heads).toBeDefined();
});

it('compares nothing that took its turns elsewhere', () => {
  const cells = result.cells.map((cell, n) => ({ ...cell, turns: `comparison ${n}` }));
  expect(broughtOf({ ...result, cells })).toBeUndefined();
});

it('says what smaller projections save, where the same heads were measured with an almost empty cache', () => {
  expect(broughtOf(result)!.projections).toBeUndefined();
  const ofPair = (cell: (typeof result.cells)[number]) =>
    cell.tokens === 1024 && cell.cache === 'static' && ['multi-head', 'grouped-6'].includes(cell.variant);
  const empty = result.cells.filter(ofPair).map((cell) => ({
    ...cell,
    tokens: 32,
    time: { ...cell.time, median: cell.variant === 'multi-head' ? 3 : 2 },
  }));
  const { heads, projections } = broughtOf({ ...result, cells: [...result.cells, ...empty] })!;
  const saved = heads!.from.milliseconds - heads!.to.milliseconds;
  expect(projections).toEqual({ tokens: 32, saved, ofProjections: 1, share: 1 / saved });
});
