// Which layers, caches and sizes are compared, and that they can be.
import type { ComparedCache } from '../axes/caches';
import type { ComparedLayer } from '../axes/layers';
import { registries as all, type Registries } from '../axes/registries';
import type { ComparedVariant } from '../axes/variants';
import type { BackendName } from '../backends/backend-name';
import { UsageError } from '../command-line/errors';
import { formatBytes } from '../print/byte-size';

export const batchSizes: readonly number[] = [1, 4];

/** Of a cache: the prompt and the steps of a measurement must fit, and so must the cache on the heap. */
export const tokenRange = { from: 32, to: 4096 } as const;

/** Which cases are compared, by names. What is left out is chosen by default. */
export interface ComparisonChoice {
  readonly variant?: readonly string[];
  readonly cache?: readonly string[];
  readonly shape?: readonly string[];
  readonly tokens?: readonly number[];
  readonly batch?: readonly number[];
}

/** The cases of one shape: all variants with all caches, for every number of tokens and every batch. */
export interface ComparisonCases {
  readonly shape: ComparedLayer;
  /** The first is what the others are compared with. */
  readonly variants: readonly ComparedVariant[];
  /** Of those chosen, the ones that do not fit the shape. */
  readonly leftOut: readonly ComparedVariant[];
  readonly caches: readonly ComparedCache[];
  readonly tokens: readonly number[];
  readonly batches: readonly number[];
  /** Of a prompt; 0: none is timed. */
  readonly prefill: number;
  /** Calls that are timed. */
  readonly samples: number;
}

/** The heap of the wasm backend ends at 4 GiB, and allocations leave gaps. */
const mostBytes = 3 * 2 ** 30;
const floatBytes = 4;

interface Circumstances {
  readonly backend: BackendName;
  readonly quick: boolean;
  /** Tests add to them. */
  readonly registries?: Registries;
}

/** What is compared where nothing is chosen. */
type Preset = ComparedLayer['quick'];

/** @throws UsageError where nothing is left to compare, or memory does not hold it */
export function comparisonCases(choice: ComparisonChoice, circumstances: Circumstances): ComparisonCases[] {
  const { registries = all } = circumstances;
  const chosen = choice.shape
    ? registries.layers.filter(({ name }) => choice.shape!.includes(name))
    : defaultShapes(choice, circumstances, registries);
  return chosen.map((shape) => {
    const cases = casesOf(shape, choice, circumstances, registries);
    checkVariants(cases, choice, registries);
    checkMemory(cases);
    return cases;
  });
}

/** Those that have a variant that is chosen; all, where none has, to be refused with a reason. */
function defaultShapes(
  { variant }: ComparisonChoice,
  { backend }: Circumstances,
  registries: Registries,
): readonly ComparedLayer[] {
  const affordable = registries.layers.filter(
    ({ isLarge, isOptional }) => !isOptional && !(isLarge && backend === 'cpu'),
  );
  const wanted = registries.variants.filter(({ name }) => variant?.includes(name) ?? true);
  const fitting = affordable.filter(({ config }) => wanted.some((one) => !one.unfit(config)));
  return fitting.length > 0 ? fitting : affordable;
}

function casesOf(
  shape: ComparedLayer,
  choice: ComparisonChoice,
  { backend, quick }: Circumstances,
  registries: Registries,
): ComparisonCases {
  const isSlow = backend === 'cpu';
  const { samples, variant: own, batch: usual = batchSizes }: Preset = quick ? shape.quick : shape;
  const { variant = own, cache, batch = usual } = choice;
  const [baseline] = registries.variants;
  const wanted = registries.variants.filter(
    (one) => one === baseline || (variant?.includes(one.name) ?? !one.isOptional),
  );
  return {
    shape,
    variants: wanted.filter((one) => !one.unfit(shape.config)),
    leftOut: wanted.filter((one) => one.unfit(shape.config)),
    caches: registries.caches.filter(({ name, isOptional }) => cache?.includes(name) ?? !isOptional),
    tokens: choice.tokens ?? (quick || isSlow ? [256] : [256, 1024]),
    batches: batch,
    prefill: prefillTokens(shape, choice, isSlow),
    samples: isSlow ? 3 : samples,
  };
}

/** Of a large layer a prompt takes seconds: it is timed where the layer is asked for. */
function prefillTokens(
  { isLarge, name }: ComparedLayer,
  { shape }: ComparisonChoice,
  isSlow: boolean,
): number {
  if (isLarge && (isSlow || !shape?.includes(name))) return 0;
  return isSlow ? 64 : 512;
}

function checkVariants(
  { shape, variants: fitting, leftOut }: ComparisonCases,
  { variant: chosen }: ComparisonChoice,
  registries: Registries,
): void {
  if (!chosen || fitting.some(({ name }) => chosen.includes(name))) return;
  const valid = registries.variants.filter((one) => !one.unfit(shape.config));
  const names = (list: readonly ComparedVariant[], separator: string) =>
    list.map(({ name }) => name).join(separator);
  throw new UsageError(
    `--variant ${names(leftOut, ',')} is none of ${shape.name}, whose ${leftOut[0]!.unfit(shape.config)}: ` +
      `choose from ${names(valid, ', ')}, or another --shape`,
  );
}

function checkMemory({ shape, variants: fitting, caches: kinds, tokens, batches }: ComparisonCases): void {
  const [batch, longest] = [Math.max(...batches), Math.max(...tokens)];
  const bytesOf = (variant: ComparedVariant, kind: ComparedCache) =>
    kind.predictBytes(variant.cacheShape(shape.config, batch), longest);
  const cacheBytes = [
    ...fitting.flatMap((variant) => kinds.map((kind) => bytesOf(variant, kind))),
    bytesOf(fitting[0]!, kinds.at(-1)!), // with the other kernel
  ];
  // The backend keeps a second, packed copy of each. The largest cache is also what it is filled from, what it grows into,
  // and what a kernel reads.
  const bytes = 2 * weightBytes(shape, fitting) + sum(cacheBytes) + 3 * Math.max(...cacheBytes);
  if (bytes <= mostBytes) return;
  throw new UsageError(
    `${shape.name} with ${longest.toLocaleString('en')} tokens and batch ${batch} takes about ${formatBytes(bytes)}, ` +
      `more than the ${formatBytes(mostBytes)} to be had: choose fewer of --tokens, --batch, --cache or --variant`,
  );
}

/** Weights of the same name and shape are shared. */
function weightBytes({ config }: ComparedLayer, fitting: readonly ComparedVariant[]): number {
  const shared = new Map(
    fitting.flatMap((variant) =>
      Object.entries(variant.variableShapes(config)).map(([name, shape]) => [`${name}: ${shape}`, shape]),
    ),
  );
  return floatBytes * sum([...shared.values()].map((shape) => shape.reduce((size, n) => size * n, 1)));
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, n) => total + n, 0);
