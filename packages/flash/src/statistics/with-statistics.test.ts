import {
  expectNumbers,
  expectSameMemory,
  memoryNow,
  numbersOf,
  samplePositions,
} from '@polyhead/conformance';
import {
  type AttendResult,
  type Attention,
  type AttentionKernel,
  attend,
  causal,
  composed,
  firstSupported,
  slidingWindow,
} from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { StaticCache } from '@polyhead/kv-cache';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { exactWeights, flash, pooledWeights, rowEntropy, topKeys, withStatistics } from '../index';

const [B, S, E] = [2, 9, 12];
const tokens = () => tf.randomNormal<tf.Rank.R3>([B, S, E], 0, 1, 'float32', 7);
const config = { embedDim: E, numHeads: 6, headDim: 5, seed: 1 };

/** A kernel that keeps the weights of its last call. */
function weightsBy(kernel: AttentionKernel) {
  const kept: tf.Tensor4D[] = [];
  const looking = withStatistics(kernel, { weights: exactWeights() }, ({ weights }) => {
    kept.push(tf.keep(weights));
  });
  return { looking, kept };
}

describe('withStatistics', () => {
  const layers: readonly (readonly [string, () => Attention])[] = [
    ['MultiHeadAttention', () => new MultiHeadAttention({ ...config, numMemoryKeyValues: 2 })],
    [
      'GroupedQueryAttention with positions',
      () => new GroupedQueryAttention({ ...config, numKeyValueHeads: 2 }, { position: samplePositions(6) }),
    ],
  ];
  it.each(layers)('looks into a layer: %s', (_, make) => {
    const layer = make();
    const { looking, kept } = weightsBy(flash());
    const call = { mask: slidingWindow({ left: 3, right: 0 }) };
    const seen = layer.apply({ query: tokens() }, { ...call, kernel: looking });
    const expected = layer.apply({ query: tokens() }, { ...call, kernel: composed(), returns: ['weights'] });
    expect(seen.kernel).toMatch(/^flash(Cpu|Wasm)$/);
    expectNumbers(seen.output, numbersOf(expected.output));
    expect(kept[0]!.shape).toEqual(expected.weights!.shape);
    expectNumbers(kept[0]!, numbersOf(expected.weights!));
    layer.dispose();
  });

  it('looks into each step of decoding, where rows lie in a cache', () => {
    const layer = new GroupedQueryAttention({ ...config, numKeyValueHeads: 2 });
    const cache = new StaticCache(layer.cacheShape(B), { capacity: S });
    const last: number[][] = [];
    const looking = withStatistics(flash(), { top: topKeys(S), entropy: rowEntropy() }, ({ top, entropy }) =>
      last.push([...numbersOf(top.indices), ...numbersOf(entropy)]),
    );
    const query = tokens();
    for (let i = 0; i < S; i++) {
      layer.apply({ query: tf.slice(query, [0, i, 0], [B, 1, E]) }, { cache, kernel: looking });
    }
    const whole: number[][] = [];
    const once = withStatistics(
      flash(),
      { top: topKeys(S), entropy: rowEntropy() },
      ({ top, entropy }) => whole.push([...numbersOf(top.indices), ...numbersOf(entropy)]),
      { rows: [S - 1, S] },
    );
    layer.apply({ query }, { mask: causal(), kernel: once });
    expect(last).toHaveLength(S);
    expect(last.at(-1)).toEqual(whole[0]!.map((x) => expect.closeTo(x, 4)));
    cache.dispose();
    layer.dispose();
  });

  it('is constant inside a gradient, which it does not change', () => {
    const layer = new MultiHeadAttention(config);
    const entropies: number[][] = [];
    const looking = withStatistics(flash(), { entropy: rowEntropy() }, ({ entropy }) =>
      entropies.push(numbersOf(entropy)),
    );
    const gradientBy = (kernel: AttentionKernel) =>
      tf.grad((x) => tf.sum(tf.square(layer.apply({ query: x as tf.Tensor3D }, { kernel }).output)))(
        tokens(),
      );
    expectNumbers(gradientBy(looking), numbersOf(gradientBy(flash())));
    expect(entropies[0]).toHaveLength(B * 6 * S);
    layer.dispose();
  });

  it('returns what the call asks for, and leaves nothing else', () => {
    const heads = () => tf.randomNormal<tf.Rank.R4>([1, 2, 5, 4], 0, 1, 'float32', 3);
    const inputs = { query: heads(), key: heads(), value: heads() };
    const map = pooledWeights({ rows: 2, columns: 2 });
    const kernel = withStatistics(firstSupported([flash(), composed()]), { map, top: topKeys(1) }, () => {});
    const before = memoryNow();
    const plain: AttendResult = attend(kernel, inputs);
    expect(plain.logSumExp).toBeUndefined();
    const all = attend(kernel, inputs, { returns: ['weights', 'logSumExp'] });
    expect(all.kernel).toBe('composed'); // flash has no weights to return
    expect(tf.memory().numTensors).toBe(before.numTensors + 4);
    tf.dispose([plain.output, all.output, all.weights!, all.logSumExp!]);
    expectSameMemory(before);
  });

  it('refuses, notes, prepares and disposes as its kernel does', async () => {
    const calls: string[] = [];
    const inner: AttentionKernel = {
      ...flash(),
      name: 'inner',
      prepare: async () => void calls.push('prepare'),
      unsupported: ({ returns }) => [`asked for ${returns}`],
      notes: () => ['a note'],
      worthwhile: () => false,
      dispose: () => calls.push('dispose'),
    };
    const kernel = withStatistics(inner, { entropy: rowEntropy() }, () => {});
    await kernel.prepare!();
    kernel.dispose!();
    expect(calls).toEqual(['prepare', 'dispose']);
    const call = { inputs: {}, returns: ['weights'], sizes: { B: 1, Hq: 2, Sq: 4, Skv: 5 } } as never;
    expect([kernel.name, kernel.notes!(call), kernel.worthwhile!(call)]).toEqual([
      'inner',
      ['a note'],
      false,
    ]);
    expect(kernel.unsupported(call)).toEqual(['asked for weights,logSumExp']);
  });
});
