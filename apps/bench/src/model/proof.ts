// That a model computes what it should: logits and greedy tokens in every way, against another library's.
import { generate } from '@polyhead/transformer';
import * as tf from '@tensorflow/tfjs-core';
import type { Progress } from '../command-line/progress';
import { decoderOf, type Golden, type GoldenCase, type LoadedModel } from './loaded-model';
import { cacheOf, type Way, wayName } from './ways';

/** How one way compares, over all its cases. */
export interface ProofRow {
  readonly way: string;
  readonly cases: number;
  /** The largest difference of a logit. */
  readonly largestDifference: number;
  readonly largestLogit: number;
  /** Greedy tokens that were compared, those that differ, and the smallest margin of one that counts. */
  readonly tokens: number;
  readonly wrong: number;
  readonly smallestMargin: number;
}

/** Where no other library's numbers are: one pass over all tokens, of `composed`, is what the other ways are held to. */
export async function ownGolden(loaded: LoadedModel, way: Way, prompts: readonly string[]): Promise<Golden> {
  const cases: GoldenCase[] = [];
  for (const text of prompts) {
    const ids = idsOf(loaded, text);
    const isEncoding = 'encode' in loaded.model;
    const start = isEncoding ? [loaded.model.startToken ?? 0] : ids;
    const rows: GoldenCase['rows'][number][] = [];
    const [greedy, margins]: [number[], number[]] = [[], []];
    for await (const { token, logits } of generate(loaded.model, ids, {
      maxTokens: 12,
      logits: true,
      kernel: way.kernel,
    })) {
      const sorted = logits!.slice().sort();
      rows.push({ at: start.length - 1 + greedy.length, tokens: [...logits!.keys()], logits: [...logits!] });
      greedy.push(token);
      margins.push(sorted.at(-1)! - sorted.at(-2)!);
      if (loaded.stopTokens.includes(token)) break;
    }
    cases.push({ text, ids, decoded: [...start, ...greedy.slice(0, -1)], rows, greedy, margins });
  }
  return {
    reference: `one pass over all tokens, ${way.kernel.name}`,
    tolerance: 1e-3,
    leastMargin: 0.01,
    cases,
  };
}

/**
 * Every way on its cases. Without a cache each token computes all before it, so that some cases have to do.
 *
 * @param few cases of the ways that are not the main ones
 */
export async function prove(
  loaded: LoadedModel,
  golden: Golden,
  {
    ways,
    few,
    progress,
  }: { readonly ways: readonly Way[]; readonly few: number; readonly progress: Progress },
): Promise<ProofRow[]> {
  const rows: ProofRow[] = [];
  const kernels = [...new Set(ways.map(({ kernel }) => kernel))];
  for (const kernel of kernels) {
    progress.stage(`checking one pass over all tokens, ${kernel.name}`);
    const results = golden.cases.map((own) => wholePass(loaded, own, kernel));
    rows.push(joined(`one pass, ${kernel.name}`, results));
  }
  for (const [n, way] of ways.entries()) {
    progress.stage(`checking ${wayName(way)}`);
    const isMain = way.cache !== 'none' && n < 3;
    const results: Result[] = [];
    const cases = isMain ? golden.cases : shortest(golden.cases).slice(0, few);
    for (const own of cases) {
      results.push(await steps(loaded, own, { way, leastMargin: golden.leastMargin }));
      progress.advance(results.length, cases.length);
    }
    rows.push(joined(wayName(way), results));
  }
  return rows;
}

/** What is wrong, in words. */
export function wrongProof(rows: readonly ProofRow[], { tolerance }: Golden): string[] {
  return rows.flatMap(({ way, largestDifference, wrong }) => [
    ...(largestDifference <= tolerance ? [] : [`${way}: a logit differs by ${largestDifference}`]),
    ...(wrong === 0 ? [] : [`${way}: ${wrong} tokens differ`]),
  ]);
}

type Result = Omit<ProofRow, 'way' | 'cases'>;

const nothing: Result = {
  largestDifference: 0,
  largestLogit: 0,
  tokens: 0,
  wrong: 0,
  smallestMargin: Infinity,
};

const shortest = (cases: readonly GoldenCase[]) =>
  [...cases].sort(
    (one, other) => one.ids.length * one.greedy.length - other.ids.length * other.greedy.length,
  );

function joined(way: string, results: readonly Result[]): ProofRow {
  const most = (name: keyof Result) => Math.max(...results.map((result) => result[name]));
  const sum = (name: keyof Result) => results.reduce((total, result) => total + result[name], 0);
  return {
    way,
    cases: results.length,
    largestDifference: results.some(({ largestDifference }) => Number.isNaN(largestDifference))
      ? Number.NaN
      : most('largestDifference'),
    largestLogit: most('largestLogit'),
    tokens: sum('tokens'),
    wrong: sum('wrong'),
    smallestMargin: Math.min(...results.map(({ smallestMargin }) => smallestMargin)),
  };
}

/** All logits of one call. */
function wholePass(
  { model }: LoadedModel,
  { ids, decoded, rows }: GoldenCase,
  kernel: Way['kernel'],
): Result {
  const tensor = (tokens: readonly number[]) => tf.tensor2d([[...tokens]], undefined, 'int32');
  const logits = tf.tidy(() => {
    const memory = 'encode' in model ? model.encode(tensor(ids), { kernel }).output : undefined;
    return decoderOf(model).apply(tensor(decoded), { memory, kernel }).logits;
  });
  const numbers = logits.dataSync();
  const V = logits.shape[2];
  logits.dispose();
  const results = rows.map((row) => difference(numbers.subarray(row.at * V, (row.at + 1) * V), row));
  return joined('', results);
}

/** Token by token, up to a margin that rounding could turn. */
async function steps(
  loaded: LoadedModel,
  { ids, decoded, rows, greedy, margins }: GoldenCase,
  { way, leastMargin }: { readonly way: Way; readonly leastMargin: number },
): Promise<Result> {
  const doubtful = margins.findIndex((margin) => margin < leastMargin);
  const count = doubtful < 0 ? greedy.length : doubtful;
  if (count === 0) return nothing;
  const isEncoding = 'encode' in loaded.model;
  const first = isEncoding ? 0 : ids.length - 1; // where the first token's logits stand
  const cache = cacheOf(way.cache, decoderOf(loaded.model), {
    tokens: decoded.length + greedy.length,
    source: ids.length,
  });
  const results: Result[] = [];
  let wrong = 0;
  let step = 0;
  const options = { cache, kernel: way.kernel, maxTokens: count, logits: true };
  for await (const { token, logits } of generate(loaded.model, ids, options)) {
    const row = rows.find(({ at }) => at === first + step);
    if (row) results.push(difference(logits!, row));
    wrong += token === greedy[step] ? 0 : 1;
    step += 1;
    if (wrong > 0) break; // what follows another token is another text
  }
  cache?.dispose();
  const compared = joined('', [nothing, ...results]);
  return { ...compared, tokens: step, wrong, smallestMargin: Math.min(...margins.slice(0, count)) };
}

function difference(
  logits: ArrayLike<number>,
  row: { readonly tokens: readonly number[]; readonly logits: readonly number[] },
): Result {
  const all = row.tokens.map((token, n) => Math.abs(logits[token]! - row.logits[n]!));
  return {
    ...nothing,
    largestDifference: all.some(Number.isNaN) ? Number.NaN : Math.max(...all),
    largestLogit: Math.max(...row.logits.map(Math.abs)),
  };
}

export function idsOf({ tokenizer }: LoadedModel, text: string): number[] {
  const encoded = tokenizer.encode(text);
  return Array.from('ids' in encoded ? encoded.ids : encoded);
}
