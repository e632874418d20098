// Position methods with sizes of heads, in layers with others.
import { type PositionMethod, ShapeError } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { deberta, shaw, transformerXL } from './index';

const methods: readonly (readonly [string, (numHeads: number) => PositionMethod])[] = [
  ['transformerXL', (numHeads) => transformerXL({ numHeads, headDim: 4 })],
  ['deberta', (numHeads) => deberta({ embedDim: 8, numHeads, headDim: 4 })],
  ['shaw', (numHeads) => shaw({ numHeads, headDim: 4 })],
];

function thrownBy(position: PositionMethod, sizes: { numHeads: number; headDim: number }): unknown {
  const layer = new MultiHeadAttention({ embedDim: 8, ...sizes }, { position });
  try {
    layer.apply({ query: tf.zeros([1, 3, 8]) });
    return undefined;
  } catch (error) {
    return error;
  } finally {
    layer.dispose();
    position.dispose();
  }
}

describe.each(methods)('%s', (name, create) => {
  it.each([
    [1, 2, 4], // one head would broadcast
    [2, 3, 4],
    [2, 2, 3],
    [2, 2, 1],
  ])('for %i heads of 4 refuses a query with %i heads of %i', (own, numHeads, headDim) => {
    const thrown = thrownBy(create(own), { numHeads, headDim });
    expect(thrown).toBeInstanceOf(ShapeError);
    expect((thrown as Error).message).toMatch(
      new RegExp(
        `^${name}: the query must have numHeads heads, headDim wide[^]*numHeads +${own}\\n +headDim +4`,
      ),
    );
  });

  it('takes heads of its sizes', () => {
    expect(thrownBy(create(2), { numHeads: 2, headDim: 4 })).toBeUndefined();
  });
});

it('shaw with one table for all heads names headDim alone', () => {
  const thrown = thrownBy(shaw({ headDim: 4 }), { numHeads: 2, headDim: 3 });
  expect((thrown as Error).message).toMatch(/^shaw: query heads must be headDim wide/);
});
