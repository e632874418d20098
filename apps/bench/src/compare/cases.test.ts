import { describe, expect, it } from 'vitest';
import { type ComparisonChoice, comparisonCases } from './cases';

const named = (...args: Parameters<typeof comparisonCases>) =>
  comparisonCases(...args).map(({ variants, leftOut, caches, ...rest }) => {
    const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name);
    return { ...rest, variants: names(variants), leftOut: names(leftOut), caches: names(caches) };
  });

const onWasm = { backend: 'wasm', quick: false } as const;

it('compares every variant whose heads divide those of the shape', () => {
  const [small, large] = named({}, onWasm);
  expect(small).toMatchObject({
    variants: ['multi-head', 'grouped-6', 'grouped-4', 'multi-query'],
    leftOut: ['grouped-8'],
    caches: ['growing', 'static'],
    batches: [1, 4],
  });
  expect(large).toMatchObject({
    variants: ['multi-head', 'grouped-8', 'grouped-4', 'multi-query'],
    leftOut: ['grouped-6'],
  });
});

it('takes what is chosen, and multi-head as its measure', () => {
  const choice: ComparisonChoice = { variant: ['grouped-8'], cache: ['static'], tokens: [512], batch: [4] };
  const cases = named(choice, { backend: 'wasm', quick: true });
  expect(cases).toHaveLength(1); // 12 heads do not divide by 8
  expect(cases[0]).toMatchObject({
    shape: { name: 'llama-2-7b' },
    variants: ['multi-head', 'grouped-8'],
    leftOut: [],
    caches: ['static'],
    tokens: [512],
    batches: [4],
  });
});

it('leaves the large shape out of plain JavaScript, unless it is chosen', () => {
  const onCpu = { backend: 'cpu', quick: false } as const;
  expect(comparisonCases({}, onCpu).map(({ shape }) => shape.name)).toEqual(['gpt-2']);
  expect(comparisonCases({ shape: ['llama-2-7b'] }, onCpu)).toHaveLength(1);
});

describe('what cannot be', () => {
  it.each([
    [{ shape: ['gpt-2'], variant: ['grouped-8'] } as const, onWasm],
    [{ variant: ['grouped-8'] } as const, { backend: 'cpu', quick: false } as const],
  ])('is refused with the variants there are: %j', (choice, circumstances) => {
    expect(() => comparisonCases(choice, circumstances)).toThrow(
      '--variant grouped-8 is none of gpt-2, whose 12 heads do not divide so: ' +
        'choose from multi-head, grouped-6, grouped-4, grouped-2, multi-query, or another --shape',
    );
  });

  it('is refused where it would not fit the memory', () => {
    const large = { shape: ['llama-2-7b'], tokens: [4096] } as const;
    expect(() => comparisonCases({ ...large, batch: [1] }, onWasm)).not.toThrow();
    expect(() => comparisonCases({ ...large, batch: [4] }, onWasm)).toThrow(
      /^llama-2-7b with 4,096 tokens and batch 4 takes about \d\.\d\d GiB, more than the 3 GiB to be had: choose fewer/,
    );
  });
});
