import { expect, it } from 'vitest';
import { allowedError } from '../measure/relative-error';
import { openArena } from './arena';
import type { AttentionWork } from './attention-work';
import { polyheadKernels } from './peers/polyhead';

const work: AttentionWork = { heads: 4, keyValueHeads: 2, queries: 9, keys: 9, headDim: 5, causal: true };

/** What composed computes, and what the check says of it after a change. */
async function errorOf(change: Partial<AttentionWork>): Promise<number> {
  const arena = openArena(work, 1);
  const other = openArena({ ...work, ...change }, 1);
  const [composed] = await polyheadKernels('composed')({ ...other, check: arena.check });
  const error = await (composed as { error(): Promise<number> }).error();
  arena.dispose();
  other.dispose();
  return error;
}

it('lets what is right pass', async () => {
  expect(await errorOf({})).toBeLessThan(allowedError);
});

it('sees what is left out', async () => {
  expect(await errorOf({ causal: false })).toBeGreaterThan(0.1);
});

it('sees a result of another size', async () => {
  const arena = openArena({ ...work, gradients: true }, 1);
  expect(arena.check([])).toBeNaN();
  arena.dispose();
});
