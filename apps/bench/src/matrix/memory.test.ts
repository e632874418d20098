import { expect, it } from 'vitest';
import { registries } from '../axes/registries';
import { memoryRows, outweighsFrom } from './memory';

const { layers, caches, variants } = registries;

it('counts keys and values of every variant with every cache, by length', () => {
  const [layer] = layers;
  const rows = memoryRows([layer!]);
  const fitting = variants.filter((variant) => !variant.unfit(layer!.config));
  expect(rows).toHaveLength(fitting.length * caches.length);
  const static1024 = rows.find((row) => row.variant === 'multi-head' && row.cache === 'static')!;
  expect(static1024.bytes.find(({ tokens }) => tokens === 1024)!.bytes).toBe(2 * 768 * 4 * 1024);
  expect(static1024.weightBytes).toBe(4 * (4 * 768 * 768 + 4 * 768));
  const last = static1024.outweighsFrom!;
  expect(last * 2 * 768 * 4).toBeGreaterThan(static1024.weightBytes);
  expect((last - 1) * 2 * 768 * 4).toBeLessThanOrEqual(static1024.weightBytes);
});

it('finds no length where a cache stops growing', () => {
  const shape = { batch: 1, heads: 1, keySize: 4, valueSize: 4 };
  const bounded = { ...caches[0]!, predictBytes: () => 100 };
  expect(outweighsFrom(1000, shape, bounded)).toBeUndefined();
  expect(outweighsFrom(99, shape, bounded)).toBe(1);
});
