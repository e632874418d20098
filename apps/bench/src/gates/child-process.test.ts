import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openArena } from './arena';
import { enterProgram } from './child-process';
import { type Contestant, isAbsent } from './contestant';

const work = { heads: 2, keyValueHeads: 2, queries: 3, keys: 3, headDim: 4, causal: false };

/** A program of JavaScript, with the job in `job`. */
async function enter(source: string, check = (numbers: readonly Float32Array[]) => numbers[0]![0]!) {
  const arena = openArena(work, 1);
  const body = `const job = JSON.parse(process.argv.at(-1)); const say = (x) => console.log(JSON.stringify(x)); ${source}`;
  const program = { peer: 'peer', command: process.execPath, args: ['-e', body] };
  const entries = await enterProgram(program, { ...arena, check });
  arena.dispose();
  return entries;
}

const answers = `
  const fs = require('fs');
  console.log('words of a library');
  say({ version: '1.2', ops: ['a', 'b'] });
  require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { turn, numbers } = JSON.parse(line);
    if (turn) return say({ ms: turn === 'a' ? 1 : 2, cpuMs: 3 });
    const file = job.folder + '/result.f32';
    fs.copyFileSync(job.folder + '/query.f32', file);
    say({ files: [file] });
  });`;

it('drives each operation turn by turn, and leaves no file', async () => {
  const checked: number[] = [];
  const entries = await enter(answers, ([numbers]) => {
    checked.push(...numbers!);
    return 0.5;
  });
  expect(entries.map(({ peer, op }) => [peer, op])).toEqual([
    ['peer', 'a'],
    ['peer', 'b'],
  ]);
  const [a, b] = entries as [Contestant, Contestant];
  expect([await a.turn(), await b.turn(), await a.turn()]).toEqual([1, 2, 1].map((ms) => ({ ms, cpuMs: 3 })));
  expect(await b.error!()).toBe(0.5);
  const arena = openArena(work, 1);
  expect(checked).toEqual([...arena.inputs.query]); // the bytes came and went unchanged
  arena.dispose();
  for (const contestant of [a, b]) await contestant.dispose();
});

it.each([
  ['says so', "say({ absent: 'nothing here' })", 'nothing here'],
  ['ends silently', '', 'its process ended without a word'],
  ['fails', "console.error('first'); console.error('no such thing'); process.exit(1)", 'no such thing'],
])('is absent where a program %s', async (_, source, reason) => {
  expect(await enter(source)).toEqual([{ peer: 'peer', reason }]);
});

it('is absent where there is no such command', async () => {
  const arena = openArena(work, 1);
  const program = { peer: 'peer', command: 'no-such-command', args: [] };
  expect(await enterProgram(program, arena)).toEqual([
    { peer: 'peer', reason: 'there is no no-such-command' },
  ]);
  arena.dispose();
});

it('takes its folder away', async () => {
  const entries = await enter(
    "say({ version: job.folder, ops: ['a'] }); require('readline').createInterface({ input: process.stdin })",
  );
  const [entry] = entries;
  if (!entry || isAbsent(entry)) throw new Error('it takes part');
  expect(existsSync(entry.version!)).toBe(true);
  await entry.dispose();
  expect(existsSync(entry.version!)).toBe(false);
});
