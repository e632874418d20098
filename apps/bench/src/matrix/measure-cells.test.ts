import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { registries } from '../axes/registries';
import type { ComparedVariant } from '../axes/variants';
import { measureCells, refuseWrong } from './measure-cells';
import type { CellAxes, Phase } from './result';

const [multiHead] = registries.variants as [ComparedVariant];
/** Drops the mask without saying so. */
const forgetful: ComparedVariant = {
  ...multiHead,
  name: 'forgetful',
  create(config, parts) {
    const layer = multiHead.create(config, parts);
    const apply = layer.apply.bind(layer);
    layer.apply = (inputs, { mask: _, ...call } = {}) => apply(inputs, call);
    return layer;
  },
};
const small = {
  ...registries.layers[0]!,
  name: 'small',
  config: { embedDim: 24, numHeads: 4, useBias: true },
};
const own = { ...registries, layers: [small], variants: [...registries.variants, forgetful] };

const base: CellAxes = {
  ...{ layer: 'small', variant: 'multi-head', position: 'none', kernel: 'best', cache: 'none' },
  ...{ backend: 'wasm', phase: 'prefill', tokens: 20, batch: 2 },
};
const measure = (cells: readonly CellAxes[]) =>
  measureCells({ cells, samples: 3 }, { registries: own, peaks: { wasm: peak } });
const peak = { gflops: 10, gigabytesPerSecond: 5, how: 'made up' };

async function heldBy(run: () => Promise<unknown>) {
  const before = tf.memory();
  await run();
  const { numTensors, numBytes } = tf.memory();
  return [numTensors - before.numTensors, numBytes - before.numBytes];
}

describe.each(registries.caches)('with a $name cache', ({ name: cache, isLossy }) => {
  it('measures prompts and steps, and leaves nothing behind', async () => {
    const cells = (['prefill', 'decode'] as const).map((phase) => ({
      ...base,
      cache,
      phase,
      position: 'none',
    }));
    let measured: Awaited<ReturnType<typeof measure>> | undefined;
    const held = await heldBy(async () => {
      measured = await measure(cells);
    });
    expect(held).toEqual([0, 0]);
    expect(measured!.absent).toEqual([]);
    for (const cell of measured!.cells) {
      expect(cell.cacheBytes!.predicted).toBe(cell.cacheBytes!.allocated);
      expect(cell.error).toBeLessThan(1e-5);
      expect(cell.time.samples).toBe(3);
      const newTokens = 2 * (cell.phase === 'prefill' ? 20 : 1);
      expect((cell.tokensPerSecond * cell.time.median) / 1000).toBeCloseTo(newTokens, 8);
    }
    const [, decode] = measured!.cells;
    if (isLossy) expect(decode!.storageError).toBeGreaterThan(1e-4);
    else expect(decode).not.toHaveProperty('storageError');
  });
});

it.each(registries.positions)('measures $name in every phase', async ({ name: position }) => {
  const works: Pick<CellAxes, 'phase' | 'cache'>[] = [
    { phase: 'prefill', cache: 'none' },
    { phase: 'decode', cache: 'static' },
    { phase: 'training', cache: 'none' },
  ];
  const held = await heldBy(async () => {
    const { cells, absent } = await measure(works.map((work) => ({ ...base, ...work, position, batch: 1 })));
    expect(absent).toEqual([]);
    expect(cells.map(({ phase }) => phase)).toEqual(['prefill', 'decode', 'training']);
  });
  expect(held).toEqual([0, 0]);
});

it('counts operations of visible pairs, and their share of what the backend can', async () => {
  const [cell] = (await measure([{ ...base, batch: 1 }])).cells;
  // Four projections of 24 × 24; 20 · 21 / 2 pairs of 4 heads × 6, twice.
  expect(cell!.flop).toBe(2 * 20 * 4 * 24 * 24 + 2 * 2 * 210 * 24);
  expect(cell!.gflops).toBeCloseTo(cell!.flop! / cell!.time.median / 1e6, 8);
  expect(cell!.shareOfPeak).toBeCloseTo(cell!.gflops! / 10, 8);
  expect(cell!.parameters).toBe(4 * (24 * 24 + 24));
  const [step] = (await measure([{ ...base, batch: 1, phase: 'decode' }])).cells; // all tokens again
  expect(step!.flop).toBe(cell!.flop);
  const [training] = (await measure([{ ...base, batch: 1, phase: 'training' }])).cells;
  expect(training!.flop).toBeGreaterThan(2.9 * cell!.flop!);
  expect(training).not.toHaveProperty('bytesMoved');
});

it.each<[Phase, string]>([
  ['prefill', 'none'],
  ['prefill', 'static'],
  ['training', 'none'],
])('does not time a wrong %s with cache %s, and times the others', async (phase, cache) => {
  const cells = ['multi-head', 'forgetful'].map((variant) => ({ ...base, variant, phase, cache }));
  const held = await heldBy(async () => {
    const measured = await measure(cells);
    expect(measured.cells.map(({ variant }) => variant)).toEqual(['multi-head']);
    expect(measured.absent).toMatchObject([{ variant: 'forgetful', why: 'wrong' }]);
    expect(() => refuseWrong(measured)).toThrow('a wrong answer is not timed');
  });
  expect(held).toEqual([0, 0]);
});

it('says why a cell is not there', async () => {
  const { absent, cells } = await measure([
    { ...base, variant: 'grouped-8' },
    { ...base, variant: 'multi-query', cache: 'static' },
  ]);
  expect(cells).toHaveLength(1);
  expect(absent).toMatchObject([
    {
      variant: 'grouped-8',
      why: 'refused',
      reason: 'there is no grouped-8 of small, whose 4 heads do not divide so',
    },
  ]);
  expect(() => refuseWrong({ absent })).not.toThrow();
});

it('times as often as the seconds allow', async () => {
  const cells = [base];
  const runs = async (seconds: number) =>
    (await measureCells({ cells, samples: { seconds, least: 2, most: 4 } }, { registries: own })).cells[0]!
      .time.samples;
  expect(await runs(0)).toBe(2);
  expect(await runs(100)).toBe(4);
});
