import { expect, it } from 'vitest';
import { registries } from '../axes/registries';
import { type BackendName, backendNames } from '../backends/backend-name';
import { fullPlan, weightOf } from './full-plan';
import { placeOf } from './result';

const backendsFrom = (main: BackendName) => backendNames.slice(backendNames.indexOf(main));
const planFrom = (main: BackendName) => fullPlan(backendsFrom(main));
const plan = planFrom('tensorflow');

it.each([['wasm'], ['tensorflow']] as const)(
  'has all that the registries have, and each phase, from %s on',
  (main) => {
    const cells = planFrom(main).flatMap((comparison) => comparison.cells);
    const among = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name);
    const { layers, variants, positions, kernels, caches } = registries;
    const has = (axis: 'layer' | 'variant' | 'position' | 'kernel' | 'cache') =>
      new Set(cells.map((cell) => cell[axis]));
    expect([...has('layer')].sort()).toEqual(among(layers).sort());
    expect([...has('variant')].sort()).toEqual(among(variants).sort());
    expect([...has('position')].sort()).toEqual(['none', ...among(positions)].sort());
    expect([...has('kernel')].sort()).toEqual(among(kernels).sort());
    expect([...has('cache')].sort()).toEqual(['none', ...among(caches)].sort());
    expect(new Set(cells.map(({ phase }) => phase)).size).toBe(3);
    expect([...new Set(cells.map(({ backend }) => backend))]).toEqual(backendsFrom(main));
  },
);

it('has the kernels and caches of a backend that is not the fastest', () => {
  const ofWasm = plan.flatMap((one) => one.cells.filter(({ backend }) => backend === 'wasm'));
  const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name).sort();
  expect([...new Set(ofWasm.map(({ kernel }) => kernel))].sort()).toEqual(names(registries.kernels));
  const decoded = ofWasm.filter(({ phase }) => phase === 'decode');
  expect([...new Set(decoded.map(({ cache }) => cache))].sort()).toEqual(names(registries.caches));
});

it('has what is added to a registry', () => {
  const [first] = registries.variants;
  const variants = [...registries.variants, { ...first!, name: 'another' }];
  const own = fullPlan(['wasm'], { ...registries, variants });
  const phases = own.flatMap((one) => one.cells.filter(({ variant }) => variant === 'another'));
  expect(new Set(phases.map(({ phase }) => phase)).size).toBe(3);
});

it('varies one axis at a time but in chosen pairs, and names each comparison once', () => {
  expect(new Set(plan.map(({ title }) => title)).size).toBe(plan.length);
  for (const { title, cells: compared } of plan) {
    expect(new Set(compared.map(placeOf)).size).toBe(compared.length);
    const differing = Object.keys(compared[0]!).filter(
      (axis) => new Set(compared.map((cell) => cell[axis as keyof typeof cell])).size > 1,
    );
    expect([title, differing.length]).toEqual([title, title.includes(' and ') ? 2 : 1]);
  }
});

it('is thought to take less than half an hour', () => {
  expect(plan.reduce((sum, comparison) => sum + weightOf(comparison), 0)).toBeLessThan(20 * 60);
});
