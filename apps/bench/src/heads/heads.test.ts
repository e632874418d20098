import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { afterAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '../command-line/command-line';
import { sections } from './sections';

const folder = mkdtempSync(join(tmpdir(), 'polyhead-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function heads(...args: string[]) {
  const written = { out: '', error: '' };
  const code = await runCommandLine(['heads', ...args], {
    terminal: { width: 100, color: false },
    progress: { stage: () => {}, advance: () => {}, clear: () => {} },
    print: (lines) => {
      written.out += `${lines.join('\n')}\n`;
    },
    write: (text) => {
      written.out += text;
    },
    printError: (text) => {
      written.error += text;
    },
  });
  return { code, ...written };
}

describe('bench heads', () => {
  it('prints a section, and writes its numbers and its picture', async () => {
    const [json, svg] = [join(folder, 'heads.json'), join(folder, 'heads.svg')];
    const before = tf.memory().numTensors;
    const { code, out, error } = await heads('moby-dick', '--only', 'kinds', '--json', json, '--svg', svg);
    expect([code, error]).toEqual([0, '']);
    expect(tf.memory().numTensors).toBe(before);
    expect(out).toContain('Moby Dick, byte by byte: 4 layers of 4 heads');
    const { sections: found, ...rest } = JSON.parse(readFileSync(json, 'utf8'));
    expect(rest).toMatchObject({ layers: 4, headsPerLayer: 4 });
    expect(Object.keys(found)).toEqual(['kinds']);
    const { scores, names, even } = found.kinds;
    expect(names).toHaveLength(16);
    // A model of letters has heads that look at the one before; none that sees later ones.
    expect(names).toContain('previous');
    expect(even.next).toBeNull();
    for (const share of [...scores.previous, ...scores.induction]) {
      expect(share).toBeGreaterThanOrEqual(0);
      expect(share).toBeLessThanOrEqual(1);
    }
    expect(readFileSync(svg, 'utf8').match(/^<svg /gm)).toHaveLength(1);
  });

  it('reads all labelled words, and says that a model of letters finds few', async () => {
    const json = join(folder, 'pairs.json');
    const { code, out } = await heads('moby-dick', '--only', 'pairs', '--json', json);
    expect(code).toBe(0);
    const { pairs, kinds, meanings } = JSON.parse(readFileSync(json, 'utf8')).sections.pairs;
    expect([pairs, kinds.length, meanings.length]).toEqual([45, 5, 16]);
    for (const { shares, chance, best, means, kind } of kinds) {
      expect(shares).toHaveLength(16);
      expect(chance).toBeLessThan(0.4);
      expect(out).toContain(`${kind} `);
      expect(out.includes('means nothing')).toBe(true);
      if (!means[best]) expect(means).not.toContain(true);
    }
  });

  it('has sections of different names', () => {
    expect(new Set(sections.map(({ name }) => name)).size).toBe(sections.length);
  });

  it('refuses what is no section and no model of one text', async () => {
    const names = sections.map(({ name }) => name).join(', ');
    expect(await heads('moby-dick', '--only', 'kinds,grammar')).toMatchObject({
      code: 2,
      error: `bench: --only: there is no section grammar: there are ${names}`,
    });
    expect((await heads('no-such-model')).error).toContain('there is no model no-such-model');
  });
});
