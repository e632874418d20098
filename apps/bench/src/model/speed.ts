// How fast a model reads a prompt and writes tokens, in each way, and what of memory it takes.
import { generate } from '@polyhead/transformer';
import type { Progress } from '../command-line/progress';
import { mobyDickChapters } from '../published/moby-dick';
import { decoderOf, type LoadedModel } from './loaded-model';
import { idsOf } from './proof';
import { cacheOf, predictedBytes, type Way, wayName } from './ways';

export interface SpeedRow {
  readonly way: string;
  readonly promptTokens: number;
  /** Tokens a second of the prompt. */
  readonly prompt: number;
  /** Tokens a second behind it. */
  readonly generated: number;
  /** To the first token, once all is warm, in milliseconds. */
  readonly firstToken: number;
  /** Bytes of keys and values at the end: predicted, and held. */
  readonly predictedBytes: number;
  readonly heldBytes: number;
}

/** Where a model reads a text, that many tokens of one; a source is read as it is. */
export function promptOf(loaded: LoadedModel, tokens: number): number[] {
  if ('encode' in loaded.model) return idsOf(loaded, loaded.prompt(loaded.question));
  const [chapter] = mobyDickChapters();
  return idsOf(loaded, chapter!.slice(0, 8 * tokens)).slice(0, tokens);
}

/** Each way has its turns, so that none has the warm-up of all. */
const rounds = 2;

/** @param tokens new ones; a way without a cache takes an eighth of them, since each computes all before it */
export async function timeWays(
  loaded: LoadedModel,
  {
    ways,
    ids,
    tokens,
    progress,
  }: {
    readonly ways: readonly Way[];
    readonly ids: readonly number[];
    readonly tokens: number;
    readonly progress: Progress;
  },
): Promise<SpeedRow[]> {
  const best = new Map<Way, SpeedRow>();
  for (let round = 0; round < rounds; round++) {
    for (const [n, way] of ways.entries()) {
      progress.stage(`timing ${wayName(way)}`);
      progress.advance(round * ways.length + n, rounds * ways.length);
      const row = await timeWay(loaded, way, {
        ids,
        tokens: way.cache === 'none' ? Math.ceil(tokens / 8) : tokens,
      });
      best.set(way, faster(row, best.get(way)));
    }
  }
  return ways.map((way) => best.get(way)!);
}

/** The best of each number: others on the machine can only slow it down. */
function faster(row: SpeedRow, other: SpeedRow = row): SpeedRow {
  return {
    ...row,
    prompt: Math.max(row.prompt, other.prompt),
    generated: Math.max(row.generated, other.generated),
    firstToken: Math.min(row.firstToken, other.firstToken),
  };
}

async function timeWay(
  loaded: LoadedModel,
  way: Way,
  { ids, tokens }: { readonly ids: readonly number[]; readonly tokens: number },
): Promise<SpeedRow> {
  const decoder = decoderOf(loaded.model);
  const isEncoding = 'encode' in loaded.model;
  const own = isEncoding ? 1 : ids.length;
  const sizes = { tokens: own + tokens + 1, source: ids.length };
  const cache = cacheOf(way.cache, decoder, sizes);
  const options = { cache, kernel: way.kernel, maxTokens: tokens + 1 };
  const start = performance.now();
  let [first, count] = [0, 0];
  for await (const _ of generate(loaded.model, ids, options)) {
    count += 1;
    if (count === 1) first = performance.now();
  }
  const end = performance.now();
  const held = own + count - 1;
  const row = {
    way: wayName(way),
    promptTokens: ids.length,
    prompt: (1000 * ids.length) / (first - start),
    generated: (1000 * (count - 1)) / (end - first),
    firstToken: first - start,
    predictedBytes: predictedBytes(way.cache, decoder, { ...sizes, held }),
    heldBytes: cache?.byteSize ?? 0,
  };
  cache?.dispose();
  return row;
}

/** The first token of all: what is packed and compiled at first use is in it. */
export async function coldFirstToken(loaded: LoadedModel, way: Way, ids: readonly number[]): Promise<number> {
  const start = performance.now();
  for await (const _ of generate(loaded.model, ids, { kernel: way.kernel, maxTokens: 1 })) break;
  return performance.now() - start;
}
