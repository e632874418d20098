// Memory and speed of variants and caches, as lines that a person reads.
import { formatBytes } from '../print/byte-size';
import { count, threeDigits, times } from '../print/format-number';
import { alignWithin } from '../print/table';
import type { CachedTiming } from './cached-speed';
import type { ComparisonCases } from './cases';
import { prefillTokens } from './comparison';

/** The tables of one shape, as full as `width` allows. */
export function comparisonLines(
  cases: ComparisonCases,
  timings: readonly CachedTiming[],
  width: number,
): string[] {
  const ofShape = timings.filter(({ shape }) => shape === cases.shape.name);
  const [prefill, decode] = ['prefill', 'decode'].map((name) =>
    ofShape.filter(({ phase }) => phase === name),
  );
  const { embedDim: E, numHeads } = cases.shape.config;
  return [
    `${cases.shape.title}: ${count(E)} wide, ${numHeads} heads × ${E / numHeads}, causal`,
    ...byteLines(cases, decode!, width),
    ...(prefill!.length > 0 ? prefillLines(cases, prefill!, width) : []),
    ...decodeLines(cases, decode!, width),
    ...noteLines(cases, ofShape),
  ];
}

/** In the first cache. */
function byteLines({ variants, tokens }: ComparisonCases, decode: readonly CachedTiming[], width: number) {
  const longest = Math.max(...tokens);
  const rows = variants.map((variant) => {
    const { keyValueHeads, bytes, batch } = find(decode, { variant: variant.name, tokens: longest });
    return { variant: variant.name, keyValueHeads, bytes: bytes.allocated / batch };
  });
  return [
    'Keys and values, predicted and allocated, of one sequence',
    ...alignWithin(
      width,
      [
        ['variant', 'K/V heads', 'a token', `${count(longest)} tokens`, 'fewer'],
        ...rows.map(({ variant, keyValueHeads, bytes }) => [
          variant,
          `${keyValueHeads}`,
          formatBytes(bytes / longest),
          formatBytes(bytes),
          times(rows[0]!.bytes / bytes),
        ]),
      ],
      { right: [1, 2, 3, 4] },
    ),
  ];
}

function prefillLines(
  { variants, caches }: ComparisonCases,
  timings: readonly CachedTiming[],
  width: number,
) {
  const batches = [...new Set(timings.map(({ batch }) => batch))];
  const columns = caches.flatMap(({ name: cache }) => batches.map((batch) => ({ cache, batch })));
  const head = ['variant', ...columns.map(({ cache, batch }) => `${cache}, ${batch}`)];
  const rows = layersOf(timings).map(({ label, ...layer }) => [
    label,
    ...columns.map((column) => withRatio(find(timings, { ...layer, ...column }), ({ median }) => median)),
  ]);
  return [
    '',
    `Prefill of ${prefillTokens} tokens: ms (times as fast as ${variants[0]!.name}), by cache and batch`,
    ...alignWithin(width, [head, ...rows], { right: head.map((_, column) => column).slice(1) }),
  ];
}

/** One row a layer and cache. */
function decodeLines(
  { variants, caches, batches, tokens }: ComparisonCases,
  timings: readonly CachedTiming[],
  width: number,
): string[] {
  const columns = batches.flatMap((batch) => tokens.map((length) => ({ batch, tokens: length })));
  const head = ['variant', 'cache', ...columns.map((column) => `${column.batch} × ${count(column.tokens)}`)];
  const rows = layersOf(timings).flatMap(({ label, ...layer }) =>
    caches
      .filter(({ name: cache }) => timings.some(isLike({ ...layer, cache })))
      .map(({ name: cache }) => [
        label,
        cache,
        ...columns.map((column) =>
          withRatio(find(timings, { ...layer, cache, ...column }), ({ tokensPerSecond }) => tokensPerSecond),
        ),
      ]),
  );
  return [
    '',
    `Decoding: tokens a second (times as fast as ${variants[0]!.name}), by batch × tokens in the cache`,
    ...alignWithin(width, [head, ...rows], { right: head.map((_, column) => column).slice(2), kept: 2 }),
  ];
}

/** Each variant and kernel that was measured; only a kernel other than the first's is named. */
function layersOf(timings: readonly CachedTiming[]) {
  const [first] = timings;
  const labels = new Map(
    timings.map(({ variant, kernel }) => {
      const label = kernel === first!.kernel ? variant : `${variant}, ${kernel}`;
      return [label, { label, variant, kernel }];
    }),
  );
  return [...labels.values()];
}

function find(timings: readonly CachedTiming[], wanted: Partial<CachedTiming>): CachedTiming {
  return timings.find(isLike(wanted))!;
}

const isLike = (wanted: Partial<CachedTiming>) => (timing: CachedTiming) =>
  Object.entries(wanted).every(([name, value]) => timing[name as keyof CachedTiming] === value);

const withRatio = (timing: CachedTiming, value: (timing: CachedTiming) => number) =>
  `${threeDigits(value(timing))} (${timing.speedUp.toFixed(2)} ×)`;

function noteLines({ shape, leftOut, caches }: ComparisonCases, timings: readonly CachedTiming[]): string[] {
  const { samples } = timings[0]!;
  const error = Math.max(...timings.map((timing) => timing.error));
  return [
    `kernel ${timings[0]!.kernel}, where no other is named`,
    `medians of ${samples} runs, in turn; largest difference to doubles ${error.toExponential(0)}`,
    ...caches.map(({ name }) => `${name}: ${find(timings, { cache: name }).writes}`),
    ...leftOut.map((variant) => `no ${variant.name}: ${variant.unfit(shape.config)}`),
  ];
}
