// The first screen of the report: what the kernel, fewer key/value heads, smaller projections and the cache each bring, and
// when a cache is the larger part.
import { caches as allCaches } from '../axes/caches';
import { wrapText } from '../command-line/terminal';
import { outweighsFrom, weightBytes } from '../matrix/memory';
import type { Brought, MeasuredCell } from '../matrix/result';
import { isBusy, timeOf } from '../matrix/speed-up';
import { formatBytes } from '../print/byte-size';
import { atMost, count, percent, threeDigits } from '../print/format-number';
import type { ComparisonCases } from './cases';
import { fewTokens } from './comparison';

type Contrast = NonNullable<Brought['kernel']>;

const indent = 13;

/** Of the layer with its longest context: one sequence where that was measured, in the last cache. */
export function whatItBrings(
  { shape, variants, caches }: Pick<ComparisonCases, 'shape' | 'variants' | 'caches'>,
  cells: readonly MeasuredCell[],
): Brought {
  const decode = cells.filter((cell) => cell.phase === 'decode' && cell.layer === shape.name);
  const tokens = Math.max(...decode.map((cell) => cell.tokens));
  const batch = Math.min(...decode.map((cell) => cell.batch));
  const cache = caches.at(-1)!.name;
  const measured = decode.filter((cell) => cell.tokens === tokens && cell.batch === batch);
  const inLast = measured.filter((cell) => cell.cache === cache);
  const [full] = inLast as [MeasuredCell];
  const slower = inLast.find((cell) => cell.variant === full.variant && cell.ran !== full.ran);
  const fewer = inLast.find((cell) => cell.kernel === full.kernel && cell.keyValueHeads < full.keyValueHeads);
  const copied = measured.find(
    (cell) => cell.cache !== cache && cell.variant === full.variant && cell.kernel === full.kernel,
  );
  const almostEmpty = (like: MeasuredCell) =>
    decode.find((cell) => cell.tokens === fewTokens && cell.variant === like.variant && cell.batch === batch);
  const empty = fewer && [almostEmpty(full), almostEmpty(fewer)];
  const busy = isBusy([full, slower, fewer, copied, ...(empty ?? [])].filter((cell) => cell !== undefined));
  const contrast = (...pair: readonly [from: MeasuredCell, to: MeasuredCell]) => contrastOf(pair, busy);
  return {
    layer: shape.title,
    ...{ tokens, batch, cache },
    ...(slower && { kernel: contrast(slower, full) }),
    ...(fewer && { heads: contrast(full, fewer) }),
    ...(tokens !== fewTokens &&
      empty?.[0] &&
      empty[1] &&
      projectionsOf([full, fewer!, empty[0], empty[1]].map((cell) => timeOf(cell, busy)))),
    ...(copied && { storage: contrast(copied, full) }),
    outweighs: [full, ...(fewer ? [fewer] : [])].flatMap((cell) => {
      const variant = variants.find(({ name }) => name === cell.variant)!;
      const kind = [...caches, ...allCaches].find(({ name }) => name === cache)!;
      const from = outweighsFrom(weightBytes(variant, shape), variant.cacheShape(shape.config, 1), kind);
      return from === undefined ? [] : [{ keyValueHeads: cell.keyValueHeads, tokens: from }];
    }),
    busy,
  };
}

/**
 * What fewer heads save a step, and of that what they save where the cache is almost empty, with `fewTokens`: the projections.
 *
 * @param times of all heads and of fewer, with the longest context and almost without
 */
export function projectionsOf(times: readonly number[]): Pick<Brought, 'projections'> {
  const [full, fewer, fullEmpty, fewerEmpty] = times as [number, number, number, number];
  const [saved, ofProjections] = [full - fewer, fullEmpty - fewerEmpty];
  if (!(saved > 0)) return {}; // less than the machine's noise
  return { projections: { tokens: fewTokens, saved, ofProjections, share: ofProjections / saved } };
}

/** Two cells that differ in one choice, by processor time where they are `busy`. */
export const contrastOf = ([from, to]: readonly [MeasuredCell, MeasuredCell], busy: boolean): Contrast => ({
  ...{ from: sideOf(from, busy), to: sideOf(to, busy) },
  speedUp: timeOf(from, busy) / timeOf(to, busy),
});

function sideOf(cell: MeasuredCell, busy: boolean): Contrast['from'] {
  const { ran, keyValueHeads, cache, time, cacheBytes, error } = cell;
  const milliseconds = timeOf(cell, busy);
  const tokensPerSecond = (cell.tokensPerSecond * time.median) / milliseconds;
  return {
    kernel: ran,
    ...{ keyValueHeads, cache, milliseconds, tokensPerSecond, error },
    cacheBytes: cacheBytes?.allocated ?? 0,
  };
}

export function broughtLines(brought: Brought, backend: string, width: number): string[] {
  const { layer, tokens, batch, cache, kernel, heads, projections, busy } = brought;
  const sequences = batch === 1 ? 'one sequence' : `${batch} sequences`;
  const paragraphs = [
    ...(kernel ? [['kernel', kernelSentence(kernel)]] : []),
    ...(heads ? [['heads', headsSentence(heads, kernel ? ' with that kernel' : '')]] : []),
    ...(projections ? [['projections', projectionsSentence(projections)]] : []),
    ['cache', cacheSentences(brought)],
    ...(busy
      ? [
          [
            'busy',
            'Less than nine tenths of a processor was had: these are times of the processor, and unsure.',
          ],
        ]
      : []),
  ];
  return [
    `${layer}: ${count(tokens)} tokens in the ${cache} cache, ${sequences}, on ${backend}`,
    ...paragraphs.flatMap(([name, text]) =>
      wrapText(text!, width - indent).map((line, n) => (n === 0 ? name! : '').padEnd(indent) + line),
    ),
  ];
}

function kernelSentence({ from, to, speedUp }: Contrast): string {
  const error = atMost(Math.max(from.error, to.error));
  return (
    `${to.kernel} gives the same numbers as ${from.kernel}, both within ${error} of doubles, and a token ` +
    `${threeDigits(speedUp)} times as fast: ${threeDigits(to.tokensPerSecond)} instead of ` +
    `${threeDigits(from.tokensPerSecond)} a second.`
  );
}

function headsSentence({ from, to, speedUp }: Contrast, how: string): string {
  return (
    `${to.keyValueHeads} instead of ${from.keyValueHeads} key/value heads take ${formatBytes(to.cacheBytes)} ` +
    `of cache a layer instead of ${formatBytes(from.cacheBytes)}, and${how} give a token ` +
    `${threeDigits(speedUp)} times as fast.`
  );
}

/** A share beyond 0 to 1 is noise, which is told as it is. */
function projectionsSentence({ tokens, saved, ofProjections, share }: NonNullable<Brought['projections']>) {
  const [all, projections] = [saved, ofProjections].map(threeDigits);
  if (share > 1)
    return (
      `Fewer heads save a token ${all} ms here, and ${projections} with ${tokens} tokens in the cache: smaller ` +
      'projections are all that shows beside the noise.'
    );
  return (
    `Of the ${all} ms that fewer heads save a token, ${projections} (${percent(share)}) are smaller projections: so ` +
    `much they save with ${tokens} tokens in the cache. The rest is fewer keys and values to read.`
  );
}

function cacheSentences({ outweighs, storage }: Brought): string {
  const [full, fewer] = outweighs;
  const rest = fewer ? `, with ${fewer.keyValueHeads} from ${count(fewer.tokens)}` : '';
  return [
    ...(storage
      ? [
          `The ${storage.to.cache} cache gives a token ${threeDigits(storage.speedUp)} times as fast as the ${storage.from.cache} one.`,
        ]
      : []),
    ...(full
      ? [
          `With ${full.keyValueHeads} key/value heads the cache of a sequence weighs more than the layer's weights ` +
            `from ${count(full.tokens)} tokens on${rest}.`,
        ]
      : []),
  ].join(' ');
}
