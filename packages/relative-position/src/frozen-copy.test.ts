import { expect, it } from 'vitest';
import { alibi, deberta, type RotaryConfig, rotary, swin } from './index';

const longrope = {
  type: 'longrope' as const,
  factor: 2,
  originalLength: 8,
  shortFactors: [1, 1],
  longFactors: [2, 2],
};

it.each<[string, object, (config: never) => { readonly config: object }]>([
  ['alibi', { numHeads: 2, slopes: [1, 2] }, alibi],
  ['swin', { numHeads: 2, window: [2, 3] }, swin],
  ['deberta', { embedDim: 4, numHeads: 2, terms: ['contentToPosition'] }, deberta],
  ['rotary', { headDim: 4, sections: [1, 1], scaling: longrope }, rotary],
])('the config of %s shares nothing with its caller, and is frozen throughout', (_name, given, create) => {
  const before = JSON.stringify(given);
  const { config } = create(given as never);
  expectFrozenApart(config, given);
  expect(JSON.stringify(given)).toBe(before);
  expect(JSON.parse(JSON.stringify(config))).toEqual(JSON.parse(before));
});

it('leaves the lists of the caller open to change, without effect', () => {
  const scaling = { ...longrope, shortFactors: [1, 1] };
  const method = rotary({ headDim: 4, scaling });
  scaling.shortFactors[0] = 7;
  expect((method.config as RotaryConfig).scaling).toEqual(longrope);
});

function expectFrozenApart(one: unknown, other: unknown): void {
  if (typeof one !== 'object' || one === null) return;
  expect(one).not.toBe(other);
  expect(Object.isFrozen(one)).toBe(true);
  for (const [name, entry] of Object.entries(one)) expectFrozenApart(entry, (other as never)[name]);
}
