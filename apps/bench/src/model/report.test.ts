import { expect, it } from 'vitest';
import { byteLines, formLines, partLines, proofLines, speedLines } from './report';

const golden = { reference: 'a library', tolerance: 1e-3, leastMargin: 0.05, cases: [] };

it('shows the proof by way, without tokens where none were drawn', () => {
  const row = { cases: 2, largestDifference: 7.3e-5, largestLogit: 39.2 };
  const lines = proofLines(
    [
      { way: 'one pass', ...row, tokens: 0, wrong: 0, smallestMargin: Number.POSITIVE_INFINITY },
      { way: 'static cache', ...row, tokens: 20, wrong: 1, smallestMargin: 0.26 },
    ],
    golden,
  );
  expect(lines[0]).toBe(
    'Checked against a library: logits within 0.001, tokens up to the first margin below 0.05',
  );
  expect(lines[2]).toMatch(/^one pass +2 +7\.3e-5 +39\.2$/);
  expect(lines[3]).toMatch(/^static cache +2 +7\.3e-5 +39\.2 +20 +1 +0\.26/);
});

it('shows speed and bytes', () => {
  const numbers = {
    promptTokens: 32,
    prompt: 34.3,
    generated: 5.42,
    firstToken: 932,
    predictedBytes: 2048,
    heldBytes: 2048,
  };
  const lines = speedLines([{ way: 'static cache', ...numbers }], 6522);
  expect(lines[0]).toBe('Speed behind 32 tokens; the very first token took 6,522 ms');
  expect(lines[2]).toMatch(/^static cache +34\.3 +5\.42 +932 ms +2 KiB +2 KiB$/);
  expect(byteLines({ file: 1024, weights: 2048, packed: 0 })).toEqual([
    "Bytes: file 1 KiB, weights 2 KiB, the backend's own at the first pass 0 bytes",
  ]);
});

it('shows the parts of a token with their shares', () => {
  const parts = { attention: 5, products: 1, 'feed-forward': 2, norms: 1, head: 0.5, 'the rest': 0.5 };
  expect(partLines([{ way: 'one', parts }])[2]).toMatch(/^one +5\.00 ms 50 % +1\.00 ms 10 %.* 10\.0 ms$/);
});

it('shows forms of weights beside the first', () => {
  const lines = formLines([
    { form: 'floats, tfjs', firstToken: 9000, generated: 10, memory: 10.6, meanDivergence: 0, agreement: 1 },
    {
      form: 'blocks as in the file, dense',
      firstToken: 2500,
      generated: 25,
      memory: 0.93,
      meanDivergence: 0.00123,
      agreement: 0.98,
    },
  ]);
  expect(lines[2]).toMatch(/^floats, tfjs +9,000 ms +10\.0 +1\.00 × +10\.6 × +0 +100 %$/);
  expect(lines[3]).toMatch(
    /^blocks as in the file, dense +2,500 ms +25\.0 +2\.50 × +0\.93 × +0\.0012 +98 %$/,
  );
});
