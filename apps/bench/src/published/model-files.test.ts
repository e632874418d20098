import { expect, it } from 'vitest';
import { readModelFiles } from './model-files';

const files = readModelFiles();

it('reads every weight of the model where the manifest says', () => {
  const { weights, weightData } = files;
  const floats = [...weights.values()].reduce((sum, { values }) => sum + values.length, 0);
  expect(weightData.byteLength).toBe(27_903_656);
  expect(floats).toBeGreaterThan(6_900_000);
  expect(weights.get('module/Embeddings_en')!.shape).toEqual([8002, 256]);
  // The graph multiplies queries by 1 / sqrt(D): these single numbers sit in the right place.
  const scale = (layer: number) =>
    weights.get(
      `module_apply_default/Encoder_en/KonaTransformer/Encode/TransformerStack/Layer_${layer}/TransformerLayer/MultiheadAttention/mul/y`,
    )!.values;
  expect([...scale(0), ...scale(1)]).toEqual([1 / 8, Math.fround(1 / Math.sqrt(128))]);
});

it('reads a vocabulary of 8,000 pieces with falling probability', () => {
  expect(files.vocabulary).toHaveLength(8000);
  expect(files.vocabulary[9]).toEqual(['▁the', expect.closeTo(-3.566, 3)]);
});
