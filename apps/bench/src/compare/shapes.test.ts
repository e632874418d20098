import { glorotUniform } from '@polyhead/core';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { MultiHeadAttention } from '@polyhead/multi-head';
import { expect, it } from 'vitest';
import { comparisonShapes, createVariant, keyValueHeadsOf } from './shapes';

it('has the sizes of the models it is named after', () => {
  expect(comparisonShapes['gpt-2'].config).toMatchObject({ embedDim: 768, numHeads: 12 });
  expect(comparisonShapes['llama-2-7b'].config).toMatchObject({ embedDim: 4096, numHeads: 32 });
});

it('makes variants with the key/value heads of their names', () => {
  const shape = { ...comparisonShapes['gpt-2'], config: { embedDim: 24, numHeads: 12 } };
  for (const [variant, heads] of [
    ['multi-head', 12],
    ['grouped-6', 6],
    ['grouped-4', 4],
    ['multi-query', 1],
  ] as const) {
    const layer = createVariant(shape, variant, glorotUniform);
    expect(keyValueHeadsOf(variant, 12)).toBe(heads);
    expect(layer.cacheShape(1).heads).toBe(heads);
    expect(layer).toBeInstanceOf(variant === 'multi-head' ? MultiHeadAttention : GroupedQueryAttention);
    layer.dispose();
  }
});
