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
  const held = measure();
  expect(held.tensorBytes).toBe(held.outputBytes);
  expect(held.peakBytes - held.outputBytes).toBeLessThan(2 * MiB);
  // The heap grows by a fifth at a time; a score for each pair would be 2 GiB.
  expect(held.heapGrowth).toBeLessThan(24 * MiB + held.outputBytes);
  expect(held.bufferGrowth).toBeLessThan(MiB);
});

function measure(): Record<
  'tensorBytes' | 'outputBytes' | 'peakBytes' | 'heapGrowth' | 'bufferGrowth',
  number
> {
  const script = fileURLToPath(new URL('./fixtures/measure-memory.ts', import.meta.url));
  const program = ['--import', 'tsx', '--conditions=@polyhead/source', script];
  return JSON.parse(execFileSync(process.execPath, program, { encoding: 'utf8' }));
}
