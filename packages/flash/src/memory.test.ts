// What a long call holds, counted in a process of its own.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { isWasm } from './fixtures/fused-kernel';

const MiB = 2 ** 20;

it('8,192 tokens, 8 heads of 64: at most 24 MiB beside inputs and output', { timeout: 120_000 }, ({
  skip,
}) => {
  skip(!isWasm, 'counts the heap of wasm, once');
  const found = measure();
  expect(found.tensorBytes).toBe(found.outputBytes);
  expect(found.peakBytes - found.outputBytes).toBeLessThan(2 * MiB);
  // The heap grows by a fifth at a time; a score for each pair would be 2 GiB.
  const most = 24 * MiB + found.outputBytes;
  expect(found.heapGrowth).toBeLessThan(most);
  // The engine's own memory is part of the process's, and at times grows meanwhile: the least of a few is the call's.
  let { rssGrowth } = found;
  for (let tries = 1; tries < 4 && rssGrowth >= most; tries++) {
    rssGrowth = Math.min(rssGrowth, measure().rssGrowth);
  }
  expect(rssGrowth).toBeLessThan(most);
});

function measure(): Record<'tensorBytes' | 'outputBytes' | 'peakBytes' | 'heapGrowth' | 'rssGrowth', number> {
  const script = fileURLToPath(new URL('./fixtures/measure-memory.ts', import.meta.url));
  const program = ['--import', 'tsx', '--conditions=@polyhead/source', script];
  return JSON.parse(execFileSync(process.execPath, program, { encoding: 'utf8' }));
}
