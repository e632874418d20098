import { describe, expect, it } from 'vitest';
import { pairwise } from './pairwise';

describe('pairwise', () => {
  const factors = {
    size: ['S', 'M', 'L', 'XL'],
    color: ['red', 'green', 'blue'],
    lined: [true, false],
    pockets: [0, 2],
  };

  it('lets any two values of different factors meet', () => {
    const rows = pairwise(factors);
    for (const size of factors.size) {
      for (const color of factors.color)
        expect(rows.some((r) => r.size === size && r.color === color)).toBe(true);
      for (const lined of factors.lined)
        expect(rows.some((r) => r.size === size && r.lined === lined)).toBe(true);
      for (const pockets of factors.pockets)
        expect(rows.some((r) => r.size === size && r.pockets === pockets)).toBe(true);
    }
    for (const lined of factors.lined) {
      for (const pockets of factors.pockets)
        expect(rows.some((r) => r.lined === lined && r.pockets === pockets)).toBe(true);
    }
  });

  it('needs far fewer rows than all combinations', () => {
    expect(pairwise(factors).length).toBeLessThanOrEqual(16); // of 48; 12 is the least possible
  });
});
