import { glorotUniform } from '@polyhead/core';
import { expect, it } from 'vitest';
import { layers } from './layers';
import { variants } from './variants';

it('has layers of the sizes of the models they are named after', () => {
  expect(layers.map(({ name, config }) => [name, config.embedDim, config.numHeads])).toEqual([
    ['gpt-2', 768, 12],
    ['width-512', 512, 8],
    ['llama-2-7b', 4096, 32],
  ]);
});

it('makes variants with the key/value heads of their names, where they divide those of the layer', () => {
  const config = { embedDim: 24, numHeads: 12, seed: 1 };
  const heads = variants.map((variant) => {
    if (variant.unfit(config)) return variant.unfit(config);
    const layer = variant.create(config, { initializer: glorotUniform });
    expect(layer.cacheShape(3)).toEqual(variant.cacheShape(config, 3));
    const shapesOf = layer.variables.map(({ name, variable }) => [name, variable.shape]);
    expect(Object.fromEntries(shapesOf)).toEqual(variant.variableShapes(config));
    layer.dispose();
    return layer.cacheShape(1).heads;
  });
  expect(heads).toEqual([12, '12 heads do not divide so', 6, 4, 2, 1]);
});
