import { expect, it } from 'vitest';
import type { TrainedRun } from './result';
import { differenceOf, pooledSummaries, statisticOf, summaries } from './summary';

it('has the mean, and the standard deviation of a sample', () => {
  expect(statisticOf([2, 4, 9])).toEqual({ mean: 5, spread: Math.sqrt(13), seeds: 3 });
  expect(statisticOf([2])).toEqual({ mean: 2, seeds: 1 });
});

it.each([
  ['agreeing, far from nothing', [0.1, 0.11, 0.12], true],
  ['agreeing, below nothing', [-0.1, -0.11, -0.12], true],
  ['agreeing, but as wide as they are large', [0.02, 0.1, 0.3], false],
  ['of both signs', [-0.01, 0.02, 0.02], false],
  ['of no difference', [0, 0, 0], false],
  ['of one seed', [0.1], undefined],
] as const)('tells differences %s', (_, values, isBeyondSpread) => {
  expect(differenceOf(values).isBeyondSpread).toBe(isBeyondSpread);
});

const run = (variant: string, seed: number, heldOut: number): TrainedRun => ({
  ...{ variant, position: 'rotary', seed, heldOut },
  ...{ keyValueHeads: 2, parameters: 10, cacheBytesPerToken: 8, curve: [3] },
});

it('compares seed by seed, and only seeds that both have', () => {
  const runs = [run('a', 1, 2), run('a', 2, 3), run('b', 2, 3.5), run('b', 3, 9), run('b', 1, 3)];
  const [a, b] = ['a', 'b'].map((variant) => ({ variant, position: 'rotary' }));
  const lone = { variant: 'c', position: 'rotary' };
  const speed = [{ ...b!, samples: 3, milliseconds: 8, ratio: 0.8 }];
  const [first, second, ...rest] = summaries({ runs, speed }, [a!, b!, lone]);
  expect(first).not.toHaveProperty('difference');
  expect(second!.difference).toEqual(differenceOf([0.5, 1]));
  expect(second!.stepRatio).toBe(0.8);
  expect(rest).toEqual([]);
});

it('compares pooled decoders with one that was trained on as long', () => {
  const row = { variant: 'g', keyValueHeads: 2, before: 2, pooled: 3 };
  const uptraining = [
    { ...row, seed: 1, trainedOn: 2.5, referenceTrainedOn: 1.5 },
    { ...row, seed: 2, trainedOn: 2.25, referenceTrainedOn: 1.5 },
  ];
  const [summary] = pooledSummaries({ uptraining });
  expect(summary).toMatchObject({ variant: 'g', before: { mean: 2 }, pooled: { mean: 3, spread: 0 } });
  expect(summary!.difference).toEqual(differenceOf([1, 0.75]));
});
