import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { allOf } from './all-of';
import { anyOf } from './any-of';
import { causal } from './causal';
import { compileMask, type MaskGeometry } from './compile-mask';
import { dense } from './dense';
import { globalTokens } from './global-tokens';
import { predicate } from './predicate';
import { segments } from './segments';
import { slidingWindow } from './sliding-window';

function geometry(keys: number): MaskGeometry {
  const at = { queryStart: [0], keyOrder: { start: [0] }, lengths: [keys] };
  return { batch: 1, heads: 3, queries: keys, keys, ...at };
}

describe('rows of many spans', () => {
  const ids = Array.from({ length: 200 }, (_, t) => t % 2);
  const call = geometry(200);

  it.each([
    ['segments', allOf(causal(), segments([ids])), (q: number, k: number) => k <= q && q % 2 === k % 2],
    [
      'a predicate',
      predicate((_b, h, q, k) => (q + k + h) % 3 > 0),
      (q: number, k: number, h: number) => (q + k + h) % 3 > 0,
    ],
    [
      'a window and global tokens',
      anyOf(
        slidingWindow({ left: 3, right: 0 }),
        globalTokens(ids.map((_, t) => t).filter((t) => t % 16 === 0)),
      ),
      (q: number, k: number) => (q - k >= 0 && q - k <= 3) || q % 16 === 0 || k % 16 === 0,
    ],
  ])('%s: one span a row and a byte for each pair, whatever was asked before', (_name, mask, rule) => {
    for (const _ of [1, 2]) {
      const { shape, spans, dense, pairs, full } = compileMask(mask, call);
      const H = mask.perHead ? 3 : 1;
      expect([shape, spans.length]).toEqual([[1, H, 200, 1], H * 200 * 2]);
      expect(dense.map((x) => [x.dtype, x.shape])).toEqual([['bool', [1, H, 200, 200]]]);
      const shown = dense[0]!.dataSync();
      let [visible, wrong] = [0, 0];
      for (let n = 0; n < shown.length; n++) {
        const [h, q, k] = [Math.floor(n / 40000), Math.floor(n / 200) % 200, n % 200];
        const [from, to] = [spans[(h * 200 + q) * 2]!, spans[(h * 200 + q) * 2 + 1]!];
        wrong += Number((shown[n] === 1 && k >= from && k < to) !== rule(q, k, h));
        visible += shown[n]!;
      }
      expect(pairs).toBe(visible * (3 / H));
      expect([wrong, full]).toEqual([0, false]);
    }
  });

  it('keeps few spans as they are, and tensors of the caller beside', () => {
    const few = predicate((_b, _h, _q, k) => k % 25 < 20, { perBatch: false, perHead: false });
    expect(compileMask(few, call)).toMatchObject({
      shape: [1, 1, 200, 8],
      dense: [],
      pairs: 3 * 200 * 160,
    });
    const both = allOf(segments([ids]), dense(tf.ones([200, 200], 'int32')));
    expect(compileMask(both, call).dense.map((x) => x.dtype)).toEqual(['int32', 'bool']);
  });

  it('keeps at most 64 MiB of plans for a mask, or one', ({ skip }) => {
    skip(tf.getBackend() !== 'cpu', 'plans are kept alike on every backend');
    const mask = segments([Array.from({ length: 6000 }, (_, t) => t % 2)]);
    const of = (keys: number) => compileMask(mask, geometry(keys));
    const [small, large] = [of(30), of(6000)];
    expect(of(6000).spans).toBe(large.spans);
    expect(of(30).spans).toBe(small.spans);
    of(5999);
    expect(of(6000).spans).not.toBe(large.spans);
  });
});
