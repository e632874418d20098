import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

// In a process of its own: the flag that Node 20 needs holds for a whole process.
const program = `
  import v8 from 'node:v8';
  import { memoryRead, multiplyAddPeaks } from './src/gates/wasm-limits.ts';
  if (process.versions.node.startsWith('20.')) v8.setFlagsFromString('--experimental-wasm-relaxed-simd');
  const work = { heads: 8, keyValueHeads: 8, queries: 1, keys: 4096, headDim: 64, causal: false };
  for (const limit of [...await multiplyAddPeaks({ work }), ...await memoryRead({ work })]) {
    const times = [];
    for (let run = 0; run < 8; run++) times.push((await limit.turn()).ms);
    console.log(limit.op + ': ' + Math.min(...times));
  }`;

it('measures how long the operations and the reads of a work take at least', { timeout: 60_000 }, () => {
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  const args = ['--conditions=@polyhead/source', '--import', 'tsx', '--input-type=module', '-e', program];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' });
  expect(stderr).toBe('');
  const lines = stdout.trim().split('\n');
  expect(lines.map((line) => line.split(':')[0])).toEqual([
    'relaxed multiply-add',
    'multiply, then add',
    'memory read',
  ]);
  const [relaxed, plain, read] = lines.map((line) => Number(line.split(':')[1])) as [number, number, number];
  const gigaflops = (ms: number) => (2 * 2 * 8 * 4096 * 64) / ms / 1e6;
  const gigabytes = (ms: number) => (2 * 8 * 4096 * 64 * 4) / ms / 1e6;
  // More would be work that was left out. How little it may be is a question of the machine and its load.
  for (const rate of [gigaflops(relaxed), gigaflops(plain), gigabytes(read)]) {
    expect(rate).toBeGreaterThan(0);
    expect(rate).toBeLessThan(1000);
  }
});
