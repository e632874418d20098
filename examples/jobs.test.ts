// The small jobs learn, in fewer steps than `npx pnpm job NAME` takes; with POLYHEAD_LONG in all of them, to 95 % and more.
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-wasm';
import { beforeAll, describe, expect, it } from 'vitest';
import { captions } from './jobs/captions';
import { decisions } from './jobs/decisions';
import { recall } from './jobs/recall';
import { summaries } from './jobs/summaries';
import { translation } from './jobs/translation';

const isLong = process.env.POLYHEAD_LONG === '1';
/** So many steps and this share of right answers, of which luck has next to none; or all steps, and 95 %. */
const least = (steps: number, share: number) => (isLong ? { share: 0.95 } : { steps, share });
const largest = (row: readonly number[]) => row.indexOf(Math.max(...row));

beforeAll(async () => {
  await tf.setBackend('wasm');
});

describe('small jobs', { timeout: 300_000 }, () => {
  it('translation: dates, and the cross-attention finds the century in the year', () => {
    const { share, ...choice } = least(300, 0.1);
    const before = tf.memory().numTensors;
    const { right, spoken, heads } = translation(choice);
    expect(right).toBeGreaterThanOrEqual(share);
    const century = spoken.length - 3; // the second digit of the year, which is last in this date
    expect(spoken).toMatch(/\d{4}$/);
    expect(heads.some((head) => largest(head[1]!) === century)).toBe(true);
    expect(tf.memory().numTensors).toBe(before);
  });

  it('summaries: what matters is copied and said shorter', () => {
    const { share, ...choice } = least(420, 0.5);
    const { right, text, summary, heads } = summaries(choice);
    expect(right).toBeGreaterThanOrEqual(share);
    const thing = heads.map((head) => text[largest(head[2]!)]);
    expect(thing).toContain(summary[2]);
  });

  it('captions: of pictures', () => {
    const { share, ...choice } = least(130, 0.1);
    const { right, heads, places } = captions(choice);
    expect(right).toBeGreaterThanOrEqual(share);
    expect(heads.flat().some((row) => places.includes(largest(row)))).toBe(true); // of 16 patches, 14 are empty
  });

  it('recall: attention finds a fact however far away it is; a recurrent net does not in so many steps', () => {
    const { rows } = recall({ ...(!isLong && { steps: 220, lstmSteps: 10, lengths: [64, 256] }) });
    const of = (name: string) => rows.filter((row) => row.name === name).map(({ right }) => right);
    expect(Math.min(...of('full'), ...of('window + global'))).toBeGreaterThanOrEqual(isLong ? 0.95 : 0.8);
    expect(Math.max(...of('lstm'))).toBeLessThan(0.6);
  });

  it('decisions: asked for few steps it walks straight, though it has seen random walks only', () => {
    const { share, ...choice } = least(140, 0.1);
    const { right, byLuck } = decisions(choice);
    expect(right).toBeGreaterThanOrEqual(share);
    expect(byLuck).toBeLessThan(0.1);
  });
});
