// What `bench full` measures: each axis alone, from one base, and chosen pairs. All that a registry has is in it.
import { registries as all, none, type Registries } from '../axes/registries';
import type { BackendName } from '../backends/backend-name';
import { fewTokens } from '../compare/comparison';
import type { TimeLimit } from './measure-cells';
import { costCallOf, flopOf } from './phases';
import type { CellAxes, Phase } from './result';

/** Cells that take turns. */
export interface Comparison {
  readonly title: string;
  readonly cells: readonly CellAxes[];
  readonly samples: TimeLimit;
}

type Axis = keyof CellAxes;
type Values = { readonly [Name in Axis]?: readonly CellAxes[Name][] };

const lengths: Readonly<Record<Phase, readonly number[]>> = {
  prefill: [64, 128, 256, 512, 1024, 2048],
  decode: [128, 256, 512, 1024, 2048, 4096],
  training: [64, 128, 256, 512],
};
const [shortest, short, long, longest] = [128, 512, 2048, 4096];

/** Seconds of timed calls that a cell has on average. */
const secondsOfCell = 1;

/** @param backends those that start here, the fastest first */
export function fullPlan(backends: readonly BackendName[], registries: Registries = all): Comparison[] {
  const of = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name);
  const { layers, variants, positions, kernels, caches } = registries;
  const [main] = backends as [BackendName];
  const large = layers.filter(({ isLarge }) => isLarge);
  const shared = { layer: layers[0]!.name, variant: variants[0]!.name, position: none };
  const rest = { kernel: kernels[0]!.name, backend: main, batch: 1 };
  const bases: Record<Phase, CellAxes> = {
    prefill: { ...shared, ...rest, phase: 'prefill', cache: none, tokens: 512 },
    decode: { ...shared, ...rest, phase: 'decode', cache: 'static', tokens: 1024 },
    training: { ...shared, ...rest, phase: 'training', cache: none, tokens: 256 },
  };
  const vary = (title: string, phase: Phase, values: Values, base: Partial<CellAxes> = {}): Comparison => {
    const cells = fitting(combine({ ...bases[phase], ...base }, values), registries);
    return { title: `${title}, ${phase}`, cells, samples: limitOf(cells) };
  };
  const every = (title: string, values: (phase: Phase) => Values) =>
    (Object.keys(bases) as Phase[]).map((phase) => vary(title, phase, values(phase)));
  const affordable = layers.filter(({ isLarge }) => !isLarge);
  const others = backends.filter(
    (backend) => backend !== main && kernels.some((kernel) => kernel.backends?.includes(backend)),
  );
  return [
    ...every('variants', () => ({ variant: of(variants) })),
    ...every('kernels', () => ({ kernel: of(kernels) })),
    // Of a backend that is not the fastest, but has kernels of its own; it may hold caches that the fastest refuses.
    ...others.flatMap((backend) => [
      ...every(`kernels of ${backend}`, () => ({ backend: [backend], kernel: of(kernels) })),
      vary(`caches of ${backend}`, 'decode', { backend: [backend], cache: of(caches) }, { tokens: short }),
    ]),
    vary('caches', 'prefill', { cache: [none, ...of(caches)] }),
    vary('caches', 'decode', { cache: [none, ...of(caches)] }, { tokens: short }),
    ...every('positions', () => ({ position: [none, ...of(positions)] })),
    ...every('lengths', (phase) => ({ tokens: lengths[phase] })),
    ...every('batches', () => ({ batch: [1, 4] })),
    ...(backends.length > 1 ? every('backends', () => ({ backend: backends })) : []),
    vary('layers', 'prefill', { layer: of(affordable) }),
    vary('layers', 'decode', { layer: of(layers) }),
    vary('variants and lengths', 'decode', {
      tokens: [fewTokens, short, long, longest],
      variant: of(variants),
    }),
    vary('variants and caches', 'decode', { variant: of(variants), cache: of(caches) }),
    vary('caches and lengths', 'decode', { tokens: [shortest, short, long, longest], cache: of(caches) }),
    vary('kernels and lengths', 'prefill', { tokens: [64, shortest, 1024], kernel: of(kernels) }),
    vary('kernels and lengths', 'decode', { tokens: [shortest, short, longest], kernel: of(kernels) }),
    vary('kernels and caches', 'decode', { kernel: of(kernels).slice(0, 2), cache: of(caches) }),
    vary('kernels and positions', 'prefill', {
      kernel: of(kernels).slice(0, 2),
      position: [none, ...of(positions)],
    }),
    ...large.map(({ name }) =>
      vary(
        `variants and lengths of ${name}`,
        'decode',
        { tokens: [fewTokens, 1024, longest], variant: of(variants) },
        { layer: name },
      ),
    ),
    ...large.map(({ name }) =>
      vary(`kernels of ${name}`, 'decode', { kernel: of(kernels).slice(0, 2) }, { layer: name }),
    ),
  ].filter(({ cells }) => cells.length > 1);
}

/** All combinations, the axis named last running fastest. */
function combine(base: CellAxes, values: Values): CellAxes[] {
  return Object.entries(values).reduce<CellAxes[]>(
    (cells, [axis, choices]) =>
      cells.flatMap((cell) => (choices as readonly unknown[]).map((value) => ({ ...cell, [axis]: value }))),
    [base],
  );
}

/** Without what the layers or backends do not have by their nature: it would be told as absent each time. */
function fitting(cells: readonly CellAxes[], { layers, variants, kernels }: Registries): CellAxes[] {
  return cells.filter((cell) => {
    const { config } = layers.find(({ name }) => name === cell.layer)!;
    const { backends } = kernels.find(({ name }) => name === cell.kernel)!;
    const variant = variants.find(({ name }) => name === cell.variant)!;
    return !variant.unfit(config) && (backends?.includes(cell.backend as BackendName) ?? true);
  });
}

const limitOf = (cells: readonly CellAxes[]): TimeLimit => ({
  seconds: secondsOfCell * cells.length,
  least: 3,
  most: 25,
});

/** What a comparison takes beside others: checks and first calls, and as many calls as it is given. */
export function weightOf({ cells, samples }: Comparison, { layers, variants }: Registries = all): number {
  const calls = 4 + samples.least;
  return cells.reduce((sum, cell) => {
    const { config } = layers.find(({ name }) => name === cell.layer)!;
    const cost = variants.find(({ name }) => name === cell.variant)!.cost(config, costCallOf(cell));
    const slow = cell.backend === 'cpu' ? 10 : 1;
    return sum + 0.5 + Math.max(secondsOfCell, (calls * slow * flopOf(cost, cell.phase)) / 1e10);
  }, 0);
}
