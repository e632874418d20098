// What a call holds beside its inputs and results: room for tiles, never Sq x Skv of anything.
import { attend, causal, slidingWindow } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { flashCpu } from './cpu';
import { attentionStatistics, pooledWeights, rowEntropy, sinkMass, topKeys } from './index';

const names = ['Float32Array', 'Float64Array', 'Int32Array', 'Uint8Array'] as const;
const originals = names.map((name) => [name, globalThis[name] as unknown as typeof Float32Array] as const);

/** The size of each typed array that is allocated while the call runs. */
function allocations(call: () => void): number[] {
  const sizes: number[] = [];
  for (const [name, Original] of originals) {
    const counting: typeof Float32Array = new Proxy(Original, {
      construct(target, args, newTarget) {
        const made: Float32Array = Reflect.construct(
          target,
          args,
          newTarget === counting ? target : newTarget,
        );
        if (!(args[0] instanceof ArrayBuffer)) sizes.push(made.byteLength); // else it is a view
        return made;
      },
    });
    Object.assign(globalThis, { [name]: counting });
  }
  try {
    call();
  } finally {
    Object.assign(globalThis, Object.fromEntries(originals));
  }
  return sizes;
}

const sum = (sizes: readonly number[]) => sizes.reduce((total, size) => total + size, 0);

describe('a call of 2,048 tokens', () => {
  const S = 2048;
  const D = 4;
  const inputs = () => {
    const heads = (seed: number) => tf.randomNormal<tf.Rank.R4>([1, 1, S, D], 0, 1, 'float32', seed);
    return { query: heads(1), key: heads(2), value: heads(3) };
  };
  const head = S * D * Float64Array.BYTES_PER_ELEMENT;

  it('K13: allocates arrays of tiles and of rows, forward', () => {
    const tensors = inputs();
    const sizes = allocations(() => attend(flashCpu(), tensors, { mask: causal() }));
    expect(sizes.length).toBeGreaterThan(10);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(head);
    expect(sum(sizes)).toBeLessThan(4 * head + 2 ** 20); // a score for each pair would be 32 MiB
  });

  it('K13: and backward', () => {
    const { query, key, value } = inputs();
    const loss = (...[q, k, v]: tf.Tensor[]) =>
      tf.sum(
        attend(
          flashCpu(),
          { query: q as tf.Tensor4D, key: k as tf.Tensor4D, value: v as tf.Tensor4D },
          { mask: causal() },
        ).output,
      ) as tf.Scalar;
    const sizes = allocations(() => tf.grads(loss)([query, key, value]));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(head);
    expect(sum(sizes)).toBeLessThan(16 * head + 2 ** 20);
  });
});

describe('a look at 16,384 tokens', () => {
  const S = 16_384;
  // Half of all pairs take ten seconds; what is allocated does not depend on how many a mask leaves.
  const long = process.env.POLYHEAD_LONG !== undefined;
  const mask = long ? causal() : slidingWindow({ left: 127, right: 0 });

  it('allocates a few MiB for all of its statistics, those of rows and of a map', {
    timeout: 180_000,
  }, () => {
    const heads = (seed: number) => tf.randomNormal<tf.Rank.R4>([1, 1, S, 4], 0, 1, 'float32', seed);
    const inputs = { query: heads(1), key: heads(2), value: heads(3) };
    let map: tf.Tensor | undefined;
    const sizes = allocations(() => {
      const statistics = { map: pooledWeights({ rows: 64, columns: 64 }), entropy: rowEntropy() };
      const rows = attentionStatistics(
        inputs,
        { mask },
        { ...statistics, top: topKeys(4), sink: sinkMass() },
      );
      map = rows.map;
    });
    const ofRows = tf.sum(map!, 3).dataSync();
    expect(map!.shape).toEqual([1, 1, 256, 256]);
    for (const mass of ofRows) expect(mass).toBeCloseTo(1, 4);
    expect(sizes.length).toBeGreaterThan(10); // they were counted
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2 ** 20);
    expect(sum(sizes)).toBeLessThan(8 * 2 ** 20); // a weight for each pair would be 1 GiB
  });
});
