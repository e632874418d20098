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

  it('finds in an encoder names of pronouns, and no subjects of verbs; and how its heads differ', {
    timeout: 60_000,
  }, async () => {
    const [json, svg] = [join(folder, 'pairs.json'), join(folder, 'pairs.svg')];
    const chosen = ['pairs', 'differences', 'rollout'];
    const { code, out } = await heads('encoder', '--only', chosen.join(','), '--json', json, '--svg', svg);
    expect(code).toBe(0);
    const { sections: found } = JSON.parse(readFileSync(json, 'utf8'));
    expect(Object.keys(found)).toEqual(chosen);
    const { pairs, kinds, meanings } = found.pairs;
    expect([pairs, kinds.length, meanings.length]).toEqual([45, 5, 8]);
    for (const { kind, shares, chance, best, means } of kinds) {
      expect(out).toContain(`${kind} `);
      expect(shares).toHaveLength(8);
      expect(chance).toBeLessThan(0.2);
      if (!means[best]) expect(means).not.toContain(true);
    }
    const meaning = (kind: string) => kinds.find((one: { kind: string }) => one.kind === kind).means;
    expect(meaning('pronoun and name')).toContain(true);
    expect(meaning('subject and verb')).not.toContain(true);
    const { divergence, overlap, overlapByChance } = found.differences;
    expect([divergence.length, overlap.length, overlapByChance.length]).toEqual([8, 2, 2]);
    for (const nats of divergence.flat()) expect(nats).toBeLessThanOrEqual(Math.LN2);
    expect(found.rollout.kinds).toHaveLength(5);
    expect(readFileSync(svg, 'utf8').match(/<svg /g)).toHaveLength(4); // three in one
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
