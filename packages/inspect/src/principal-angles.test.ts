import { seededRandom } from '@polyhead/conformance';
import { describe, expect, it } from 'vitest';
import { type Matrix, principalAngles } from './principal-angles';

const random = seededRandom(7);
const drawn = (rows: number, columns: number): number[][] =>
  Array.from({ length: rows }, () =>
    Array.from({ length: columns }, () => random() + random() + random() - 1.5),
  );
const product = (a: Matrix, b: Matrix) =>
  a.map((row) => b[0]!.map((_, j) => row.reduce((sum, x, k) => sum + x * b[k]![j]!, 0)));
const columns = (...all: readonly number[][]): number[][] =>
  all[0]!.map((_, i) => all.map((column) => column[i]!));
const unit = (n: number, size: number) => Array.from({ length: size }, (_, i) => Number(i === n));
/** Between two axes. */
const between = (angle: number, one: number, other: number, size: number) =>
  unit(one, size).map((x, i) => Math.cos(angle) * x + Math.sin(angle) * unit(other, size)[i]!);

describe('principalAngles', () => {
  it('finds angles that were made, however the columns are mixed, and whichever space is first', () => {
    const angles = [0, 0.3, 1.1];
    const a = columns(...[0, 1, 2].map((n) => unit(n, 8)));
    const b = columns(...angles.map((angle, n) => between(angle, n, n + 3, 8)), unit(7, 8));
    for (const found of [
      principalAngles(product(a, drawn(3, 3)), product(b, drawn(4, 4))),
      principalAngles(product(b, drawn(4, 4)), product(a, drawn(3, 5))), // two columns more, of the same space
    ]) {
      expect(found).toHaveLength(3);
      for (const [n, angle] of angles.entries()) expect(found[n]).toBeCloseTo(angle, 6);
    }
  });

  it('is 0 for spaces that are one, and a right angle for such as share nothing', () => {
    const space = drawn(6, 3);
    for (const angle of principalAngles(space, product(space, drawn(3, 3)))) expect(angle).toBeCloseTo(0, 6);
    const [first, last] = [columns(unit(0, 4), unit(1, 4)), columns(unit(2, 4), unit(3, 4))];
    for (const angle of principalAngles(first, last)) expect(angle).toBeCloseTo(Math.PI / 2, 12);
  });

  it('is the angle of two vectors where each space is one', () => {
    const [u, v] = [drawn(9, 1), drawn(9, 1)];
    let [uv, uu, vv] = [0, 0, 0];
    for (let i = 0; i < 9; i++) {
      uv += u[i]![0]! * v[i]![0]!;
      uu += u[i]![0]! ** 2;
      vv += v[i]![0]! ** 2;
    }
    expect(principalAngles(u, v)[0]).toBeCloseTo(Math.acos(Math.abs(uv) / Math.sqrt(uu * vv)), 12);
  });

  it('has a mean squared cosine of Db / E between spaces that are drawn at random', () => {
    const means = Array.from({ length: 40 }, () => {
      const angles = principalAngles(drawn(32, 4), drawn(32, 8));
      return angles.reduce((sum, angle) => sum + Math.cos(angle) ** 2, 0) / angles.length;
    });
    expect(means.reduce((sum, x) => sum + x, 0) / means.length).toBeCloseTo(8 / 32, 1);
  });

  it('refuses matrices of other widths', () => {
    expect(() => principalAngles([[1]], [[1], [0]])).toThrow(/principalAngles: a and b must be numbers/);
    expect(() => principalAngles([], [])).toThrow(/E, Da/);
    expect(() => principalAngles([[1], [0, 1]], [[1], [0]])).toThrow(/none of them 0/);
  });
});
