// Memory and speed of variants and caches: layers of well-known shapes in prefill and in decoding, as cells that take turns.
import { registries as all, type Registries } from '../axes/registries';
import type { BackendName } from '../backends/backend-name';
import type { Progress } from '../command-line/progress';
import { type Circumstances, type Measurement, measureCells, type Turns } from '../matrix/measure-cells';
import type { CellAxes } from '../matrix/result';
import { type ComparisonCases, tokenRange } from './cases';

/** With so few tokens in the cache a step is projections and little else. */
export const fewTokens = tokenRange.from;

/** A large layer takes seconds for a prompt. */
const promptsOfLarge = 2;

interface Named extends Turns {
  readonly title: string;
}

/** One after the other: weights of all layers together would not fit. */
export async function compareVariants(
  cases: readonly ComparisonCases[],
  backend: BackendName,
  { progress, ...circumstances }: Circumstances & { readonly progress: Progress },
): Promise<Measurement> {
  const cells = [];
  const absent = [];
  for (const some of cases) {
    for (const { title, ...turns } of turnsOf(some, backend, circumstances.registries)) {
      progress.stage(`comparing variants of the ${some.shape.title}: ${title}`);
      const measured = await measureCells(turns, { ...circumstances, onRun: progress.advance });
      cells.push(...measured.cells);
      absent.push(...measured.absent);
    }
  }
  return { cells, absent };
}

function turnsOf(
  { shape, variants, caches, batches, tokens, prefill, samples }: ComparisonCases,
  backend: BackendName,
  { kernels }: Registries = all,
): Named[] {
  const [first] = variants;
  const [best, plain] = kernels;
  const base = { layer: shape.name, position: 'none', backend };
  const lastCache = caches.at(-1)!.name;
  const cellsOf = (phase: CellAxes['phase'], size: Pick<CellAxes, 'tokens' | 'batch'>) => {
    // How a cache adds rows matters little beside a prompt.
    const kinds = phase === 'prefill' ? caches.slice(-1) : caches;
    const cell = { ...base, ...size, phase };
    return [
      ...variants.flatMap((variant) =>
        kinds.map((cache) => ({ ...cell, variant: variant.name, cache: cache.name, kernel: best!.name })),
      ),
      // The other kernel would double the time: it is measured where the report compares the two.
      { ...cell, variant: first!.name, cache: lastCache, kernel: plain!.name },
    ];
  };
  const [batch, longest] = [Math.min(...batches), Math.max(...tokens)];
  const small = fewerHeads(shape, variants).map(({ name }) => ({
    ...base,
    ...{ phase: 'decode' as const, tokens: fewTokens, batch },
    ...{ variant: name, cache: lastCache, kernel: best!.name },
  }));
  const decode = batches.flatMap((size) =>
    tokens.map((count) => {
      const isLongest = size === batch && count === longest && count !== fewTokens;
      return {
        title: `decoding to ${count} tokens, batch ${size}`,
        cells: [...cellsOf('decode', { tokens: count, batch: size }), ...(isLongest ? small : [])],
        samples,
      };
    }),
  );
  const prompt = {
    title: `a prompt of ${prefill} tokens`,
    cells: cellsOf('prefill', { tokens: prefill, batch }),
    samples: shape.isLarge ? promptsOfLarge : samples,
  };
  return [...(prefill > 0 ? [prompt] : []), ...decode];
}

/** The first, and the first that has fewer key/value heads, where one has. */
function fewerHeads(shape: ComparisonCases['shape'], variants: ComparisonCases['variants']) {
  const headsOf = (variant: (typeof variants)[number]) => variant.cacheShape(shape.config, 1).heads;
  const [full] = variants;
  const fewer = variants.find((variant) => headsOf(variant) < headsOf(full!));
  return fewer ? [full!, fewer] : [];
}
