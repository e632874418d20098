import { seededRandom } from '@polyhead/conformance';
import { describe, expect, it } from 'vitest';
import { attentionRollout } from './attention-rollout';

const [L, H, S] = [3, 2, 5];
const random = seededRandom(2);
const layers = Array.from({ length: L }, () =>
  Array.from({ length: H }, () =>
    Array.from({ length: S }, (_, i) => {
      const row = Array.from({ length: S }, (__, j) => (j <= i ? random() : 0));
      const sum = row.reduce((total, x) => total + x, 0);
      return row.map((x) => x / sum);
    }),
  ),
);

describe('attentionRollout', () => {
  it.each([0, 0.5, 0.8])('is the product of the mixed layers, in loops: %d stays', (residual) => {
    let expected = Array.from({ length: S }, (_, i) => Array.from({ length: S }, (__, j) => Number(i === j)));
    const rollout = attentionRollout(layers, { residual });
    for (let l = 0; l < L; l++) {
      const next = Array.from({ length: S }, () => new Array<number>(S).fill(0));
      for (let i = 0; i < S; i++)
        for (let j = 0; j < S; j++)
          for (let k = 0; k < S; k++) {
            let mean = 0;
            for (let h = 0; h < H; h++) mean += layers[l]![h]![i]![k]! / H;
            next[i]![j]! += (residual * Number(i === k) + (1 - residual) * mean) * expected[k]![j]!;
          }
      expected = next;
      for (let i = 0; i < S; i++) {
        for (let j = 0; j < S; j++) expect(rollout[l]![i]![j]).toBeCloseTo(expected[i]![j]!, 12);
        expect(rollout[l]![i]!.reduce((sum, x) => sum + x, 0)).toBeCloseTo(1, 12);
      }
    }
    expect(rollout).toHaveLength(L);
  });

  it('counts half for what goes around, keeps all where nothing is mixed, and a row that sees nothing', () => {
    expect(
      attentionRollout([
        [
          [
            [1, 0],
            [1, 0],
          ],
        ],
      ]),
    ).toEqual([
      [
        [1, 0],
        [0.5, 0.5],
      ],
    ]);
    const alone = attentionRollout(layers, { residual: 1 }).at(-1)!;
    expect(alone[3]).toEqual([0, 0, 0, 1, 0]);
    expect(
      attentionRollout([
        [
          [
            [0, 0],
            [0.5, 0],
          ],
        ],
      ]),
    ).toEqual([
      [
        [1, 0],
        [0.5, 0.5],
      ],
    ]);
  });

  it('refuses layers of other sizes', () => {
    expect(() => attentionRollout([])).toThrow(/attentionRollout: layers must be a list/);
    expect(() => attentionRollout([layers[0]!, [[[1]]]])).toThrow(/all layers must be \[H, S, S\]/);
    expect(() => attentionRollout(layers, { residual: 2 })).toThrow(/residual must be from 0 to 1/);
  });
});
