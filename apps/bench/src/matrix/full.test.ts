import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { registries } from '../axes/registries';
import type { Outlet } from '../command-line/outlet';
import { runFull } from './full';
import type { fullPlan } from './full-plan';
import { readKept } from './kept-result';
import { readResult } from './read-result';
import type { CellAxes } from './result';

const small = { ...registries.layers[0]!, config: { embedDim: 24, numHeads: 4 } };
const own = { ...registries, layers: [small] };
const base: CellAxes = {
  ...{ layer: small.name, variant: 'multi-head', position: 'none', kernel: 'best', cache: 'static' },
  ...{ backend: 'wasm', phase: 'decode', tokens: 12, batch: 1 },
};
const samples = { seconds: 0, least: 3, most: 3 };
const comparisons = [
  { title: 'lengths', cells: [base, { ...base, tokens: 20 }], samples },
  { title: 'kernels', cells: [base, { ...base, kernel: 'composed' }], samples },
];

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

const run = (onStage?: (text: string) => void, plan: typeof fullPlan = () => comparisons) => {
  const { outlet: made, lines } = outlet(onStage);
  return runFull({ backend: 'wasm', fresh: false, json: file }, made, {
    plan,
    registries: own,
    peakOf: async () => undefined,
    see: async () => ({}),
  }).then(() => lines);
};

it('goes on after an interruption with what is not kept, and measures anew what is complete', {
  timeout: 60_000,
}, async () => {
  const interrupted = run((text) => {
    if (text.includes('kernels')) throw new Error('interrupted');
  });
  await expect(interrupted).rejects.toThrow('interrupted');
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
