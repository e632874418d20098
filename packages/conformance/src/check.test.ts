import { describe, expect, it } from 'vitest';
import { checkKnownGaps } from './check';

const checks = [{ name: 'stands', run: () => {} }];

describe('known gaps', () => {
  it('name a check and give a reason', () => {
    expect(() => checkKnownGaps(checks, { stands: 'it falls on Mondays' })).not.toThrow();
  });

  it('cannot outlive their check', () => {
    expect(() => checkKnownGaps(checks, { sits: 'it did once' })).toThrow('no check is called "sits"');
  });

  it('cannot go without a reason', () => {
    expect(() => checkKnownGaps(checks, { stands: '' })).toThrow('needs a reason');
  });
});
