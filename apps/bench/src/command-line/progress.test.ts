import { expect, it } from 'vitest';
import { createProgress } from './progress';

function record(stream: { isTTY?: boolean; columns?: number }): string {
  const written: string[] = [];
  const progress = createProgress({ ...stream, write: (text) => written.push(text) });
  progress.stage('timing');
  progress.advance(2, 7);
  progress.clear();
  return written.join('');
}

it('rewrites one line on a terminal and takes it away', () => {
  const erase = '\r\x1b[2K';
  expect(record({ isTTY: true, columns: 80 })).toBe(`${erase}timing${erase}timing  2/7${erase}`);
});

it('adds what else is to be said', () => {
  const written: string[] = [];
  const progress = createProgress({ isTTY: true, write: (text) => written.push(text) });
  progress.advance(2, 7, 'about 3 min left');
  expect(written.join('')).toContain('2/7  about 3 min left');
});

it('never wraps: a wrapped line cannot be taken away', () => {
  expect(record({ isTTY: true, columns: 6 })).toContain('\x1b[2Ktimin\r');
});

it('writes plain lines elsewhere', () => {
  expect(record({})).toBe('timing\n');
});
