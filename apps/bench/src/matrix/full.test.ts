import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Outlet } from '../command-line/outlet';
import { runSmall } from './fixtures/small-full';
import { readKept } from './kept-result';
import { readResult } from './read-result';

let folder: string;
let file: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'polyhead-'));
  file = join(folder, 'full.json');
});
afterAll(() => rmSync(folder, { recursive: true }));

function outlet(onStage: (text: string) => void = () => {}) {
  const lines: string[] = [];
  const made: Outlet = {
    terminal: { width: 200, color: false },
    progress: { stage: onStage, advance: () => {}, clear: () => {} },
    print: (printed) => lines.push(...printed),
    write: () => {},
    printError: () => {},
  };
  return { outlet: made, lines };
}

const run = async (onStage?: (text: string) => void) => {
  const { outlet: made, lines } = outlet(onStage);
  await runSmall(file, made);
  return lines;
};

/** In a process that is sent SIGINT, as Ctrl-C does, in the midst of its last comparison: left alone it would not end. */
function runInterrupted(): Promise<NodeJS.Signals | null> {
  const program = new URL('./fixtures/small-full.ts', import.meta.url);
  const source = `const { runSmall } = await import('${program}'); await runSmall(${JSON.stringify(file)}, undefined, 1e9);`;
  const options = ['--conditions=@polyhead/source', '--import', 'tsx', '--input-type=module'];
  const child = spawn(process.execPath, [...options, '--eval', source], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (text) => {
    said += text;
    if (said.includes('kernels')) child.kill('SIGINT');
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => (code ? reject(new Error(said)) : resolve(signal)));
  });
}

it('goes on after Ctrl-C with what is not kept, and measures anew what is complete', {
  timeout: 120_000,
}, async () => {
  expect(await runInterrupted()).toBe('SIGINT');
  const kept = readResult(file);
  expect(kept).toMatchObject({ complete: false, command: 'bench full' });
  expect(kept.cells.map(({ turns, tokens }) => [turns, tokens])).toEqual([
    ['lengths', 12],
    ['lengths', 20],
  ]);

  const stages: string[] = [];
  const lines = await run((text) => stages.push(text));
  expect(stages).toEqual([expect.stringContaining('2/2')]);
  const result = readResult(file);
  expect(result.complete).toBe(true);
  expect(result.cells.slice(0, 2)).toEqual(kept.cells);
  expect(result.cells).toHaveLength(4);
  expect(result.seconds).toBeGreaterThan(kept.seconds);
  expect(lines.filter((line) => line.startsWith('kernels: '))).toHaveLength(1);
  expect(lines.some((line) => line.startsWith('best: '))).toBe(true);
  expect(lines.at(-1)).toBe(`4 cells, 0 absent: ${file}, ${file.replace('.json', '.html')}`);

  const again: string[] = [];
  const anew = await run((text) => again.push(text));
  expect(again).toHaveLength(2);
  expect(anew).toContain('measured anew: the result that is there is complete');
});

it('keeps nothing of another commit, machine or version', () => {
  const result = { ...readResult(file), complete: false };
  writeFileSync(file, JSON.stringify(result));
  const { tfjs, node, commit } = result.versions;
  const here = { tfjs, node, ...(commit && { commit }), cpu: result.machine.cpu, cores: 2 };
  expect(readKept(file, 'bench full', here).result?.cells).toHaveLength(4);
  expect(readKept(file, 'bench full', { ...here, commit: 'other' }).reason).toContain('another commit');
  expect(readKept(file, 'bench full', { ...here, cpu: 'other' }).reason).toContain('another cpu');
  expect(readKept(join(folder, 'none.json'), 'bench full', here)).toEqual({});
});

it('writes over no file that is something else', async () => {
  writeFileSync(file, 'my notes');
  await expect(run()).rejects.toThrow(/is not JSON.*; give another --json, or remove it$/);
  expect(readFileSync(file, 'utf8')).toBe('my notes');
  rmSync(file);
});
