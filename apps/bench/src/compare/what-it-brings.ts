// The first screen of the report: what the kernel brings, what fewer key/value heads bring, and when a cache is the larger part.
import { wrapText } from '../command-line/terminal';
import { formatBytes } from '../print/byte-size';
import { count, threeDigits } from '../print/format-number';
import type { CachedTiming } from './cached-speed';
import type { ComparisonCases } from './cases';

/** Of one layer with its longest context: one sequence where that was measured, in the last cache. */
export interface Brought {
  readonly layer: string;
  readonly tokens: number;
  readonly batch: number;
  readonly cache: string;
  /** The first layer with its kernel, and with `composed`; absent where there is no other kernel. */
  readonly kernel?: Comparison;
  /** The first layer, and the first that has fewer key/value heads, with one kernel; absent where none has. */
  readonly heads?: Comparison;
  /** From how many tokens on the cache of a sequence takes more bytes than the layer's weights. */
  readonly outweighs: readonly { readonly keyValueHeads: number; readonly tokens: number }[];
}

interface Comparison {
  readonly from: Side;
  readonly to: Side;
  readonly speedUp: number;
}

/** Of what is measured, what the report says. */
type Side = Pick<CachedTiming, 'kernel' | 'keyValueHeads' | 'tokensPerSecond' | 'error'> & {
  readonly cacheBytes: number;
};

const floatBytes = 4;
const indent = 8;

export function whatItBrings(
  { shape, variants }: Pick<ComparisonCases, 'shape' | 'variants'>,
  timings: readonly CachedTiming[],
): Brought {
  const decode = timings.filter((t) => t.phase === 'decode' && t.shape === shape.name);
  const tokens = Math.max(...decode.map((t) => t.tokens));
  const batch = Math.min(...decode.map((t) => t.batch));
  const { cache } = decode.at(-1)!;
  const measured = decode.filter((t) => t.tokens === tokens && t.batch === batch && t.cache === cache);
  const [full] = measured as [CachedTiming];
  const slower = measured.find((t) => t.variant === full.variant && t.kernel !== full.kernel);
  const fewer = measured.find((t) => t.kernel === full.kernel && t.keyValueHeads < full.keyValueHeads);
  return {
    layer: shape.title,
    tokens,
    batch,
    cache,
    ...(slower && { kernel: compare(slower, full) }),
    ...(fewer && { heads: compare(full, fewer) }),
    outweighs: [full, ...(fewer ? [fewer] : [])].map((timing) => {
      const variant = variants.find(({ name }) => name === timing.variant)!;
      const weightBytes = floatBytes * sizeOf(Object.values(variant.variableShapes(shape.config)));
      const tokenBytes = timing.bytes.allocated / timing.batch / timing.tokens;
      return { keyValueHeads: timing.keyValueHeads, tokens: Math.floor(weightBytes / tokenBytes) + 1 };
    }),
  };
}

function compare(from: CachedTiming, to: CachedTiming): Comparison {
  return { from: sideOf(from), to: sideOf(to), speedUp: from.median / to.median };
}

function sideOf({ kernel, keyValueHeads, tokensPerSecond, error, bytes }: CachedTiming): Side {
  return { kernel, keyValueHeads, tokensPerSecond, error, cacheBytes: bytes.allocated };
}

const sizeOf = (shapes: readonly (readonly number[])[]) =>
  shapes.reduce((sum, shape) => sum + shape.reduce((size, n) => size * n, 1), 0);

export function broughtLines(brought: Brought, backend: string, width: number): string[] {
  const { layer, tokens, batch, cache } = brought;
  const sequences = batch === 1 ? 'one sequence' : `${batch} sequences`;
  const paragraphs = [
    ...(brought.kernel ? [['kernel', kernelSentence(brought.kernel)]] : []),
    ...(brought.heads ? [['heads', headsSentence(brought.heads)]] : []),
    ['cache', cacheSentence(brought)],
  ];
  return [
    `${layer}: ${count(tokens)} tokens in the ${cache} cache, ${sequences}, on ${backend}`,
    ...paragraphs.flatMap(([name, text]) =>
      wrapText(text!, width - indent).map((line, n) => (n === 0 ? name! : '').padEnd(indent) + line),
    ),
  ];
}

function kernelSentence({ from, to, speedUp }: Comparison): string {
  const error = Math.max(from.error, to.error).toExponential(0);
  return (
    `${to.kernel} gives the same numbers as ${from.kernel}, both within ${error} of doubles, and a token ` +
    `${threeDigits(speedUp)} times as fast: ${threeDigits(to.tokensPerSecond)} instead of ` +
    `${threeDigits(from.tokensPerSecond)} a second.`
  );
}

function headsSentence({ from, to, speedUp }: Comparison): string {
  return (
    `${to.keyValueHeads} instead of ${from.keyValueHeads} key/value heads take ${formatBytes(to.cacheBytes)} ` +
    `of cache a layer instead of ${formatBytes(from.cacheBytes)}, and with that kernel give a token ` +
    `${threeDigits(speedUp)} times as fast.`
  );
}

function cacheSentence({ outweighs }: Brought): string {
  const [full, fewer] = outweighs;
  const rest = fewer ? `, with ${fewer.keyValueHeads} from ${count(fewer.tokens)}` : '';
  return (
    `With ${full!.keyValueHeads} key/value heads the cache of a sequence weighs more than the layer's weights ` +
    `from ${count(full!.tokens)} tokens on${rest}.`
  );
}
