// What `generate` is given is judged here, once.
import { type AttentionKernel, ConfigError, ShapeError, UnsupportedError } from '@polyhead/core';
import { checkFlag, checkNumber, checkSizes, normalizeOptions } from '@polyhead/core/layer';
import type { CausalModel, LayerCaches, SequenceToSequenceModel } from '../models/causal-model';
import { withRows } from '../models/take-back';
import type { GenerateOptions } from './generate';
import { checkSampling, type Sampling, samplingOptions } from './next-token';

const where = 'generate';
/** New tokens, where neither the call nor the model's positions end them. */
const defaultTokens = 256;

const known = [
  ...samplingOptions,
  ...(['cache', 'maxTokens', 'stopTokens', 'seed', 'signal', 'chunkSize'] as const),
  ...(['beams', 'lengthPenalty', 'logits', 'start', 'kernel'] as const),
];

/** All that a call says, with its defaults. */
export interface CheckedOptions {
  readonly decoder: CausalModel;
  /** Of the decoder, each `beams` times. */
  readonly prompts: readonly (readonly number[])[];
  readonly sampling: Sampling;
  readonly repetitionPenalty: number;
  readonly cache: LayerCaches | undefined;
  readonly maxTokens: number;
  readonly stopTokens: ReadonlySet<number>;
  readonly seed: number;
  readonly signal: AbortSignal | undefined;
  readonly chunkSize: number | undefined;
  readonly beams: number;
  readonly lengthPenalty: number;
  readonly logits: boolean;
  readonly kernel: AttentionKernel | undefined;
  /** For a model that reads one: padded at the right, each `beams` times. */
  readonly source?: {
    readonly ids: Int32Array;
    readonly lengths: readonly number[];
    readonly encode: SequenceToSequenceModel['encode'];
  };
}

/** @throws ConfigError, ShapeError, UnsupportedError */
export function checkGenerate(
  model: CausalModel | SequenceToSequenceModel,
  ids: readonly number[] | readonly (readonly number[])[],
  options: GenerateOptions,
): CheckedOptions {
  const checked = normalizeOptions<GenerateOptions>(where, 'options', options, known);
  checkSampling(where, checked);
  checkNumbers(checked);
  const isEncoding = 'encode' in model;
  const decoder = isEncoding ? model.decoder : model;
  const beams = checked.beams ?? 1;
  const repeated = promptsOf(ids).flatMap((prompt) => Array<readonly number[]>(beams).fill(prompt));
  const start = isEncoding ? startOf(model, checked) : undefined;
  const prompts = start ? repeated.map(() => start) : repeated;
  if (!start && checked.start)
    throw new ConfigError(where, 'start is for models that read a source', { start: checked.start });
  for (const prompt of prompts) checkTokens('tokens', prompt, decoder.vocabularySize);
  checkCache(checked, decoder, { batch: prompts.length, isEncoding, beams });
  return {
    ...{ cache: undefined, signal: undefined, chunkSize: undefined, kernel: undefined },
    ...checked,
    decoder,
    prompts,
    sampling: Object.fromEntries(samplingOptions.map((name) => [name, checked[name]])),
    repetitionPenalty: checked.repetitionPenalty ?? 1,
    maxTokens: newTokens(decoder, prompts, checked),
    stopTokens: new Set(checked.stopTokens),
    seed: checked.seed ?? Math.floor(Math.random() * 2 ** 32),
    beams,
    lengthPenalty: checked.lengthPenalty ?? 1,
    logits: checked.logits ?? false,
    ...(isEncoding && { source: { ...padded(repeated), encode: model.encode.bind(model) } }),
  };
}

function checkNumbers(options: GenerateOptions): void {
  const { maxTokens = 1, chunkSize = 1, beams = 1, seed = 0, lengthPenalty = 1, stopTokens = [] } = options;
  checkSizes(where, { maxTokens, chunkSize, beams });
  checkNumber(where, 'seed', seed, [Number.isInteger, 'a whole number']);
  checkNumber(where, 'lengthPenalty', lengthPenalty, [() => true, 'a finite number']);
  checkFlag(where, 'logits', options.logits);
  if (!Array.isArray(stopTokens))
    throw new ConfigError(where, 'stopTokens must be a list of tokens', { stopTokens });
  if (beams === 1) {
    if (options.lengthPenalty === undefined) return;
    throw new ConfigError(where, 'lengthPenalty needs beams above 1', { lengthPenalty });
  }
  const { temperature = 0, logits = false } = options;
  if (temperature > 0 || logits)
    throw new ConfigError(where, 'a beam search draws no tokens, and gives no logits', {
      beams,
      temperature,
      logits,
    });
}

/** A list of prompts of at least one token each. */
function promptsOf(ids: readonly number[] | readonly (readonly number[])[]): readonly (readonly number[])[] {
  const isList = Array.isArray(ids) && ids.length > 0;
  const prompts =
    isList && Array.isArray(ids[0]) ? (ids as readonly (readonly number[])[]) : [ids as readonly number[]];
  if (isList && prompts.every((prompt) => Array.isArray(prompt) && prompt.length > 0)) return prompts;
  throw new ConfigError(where, 'ids must be tokens of a prompt, or a list of prompts, none of them empty', {
    ids,
  });
}

function checkTokens(name: string, tokens: readonly number[], V: number): void {
  const wrong = tokens.find((token) => !Number.isInteger(token) || token < 0 || token >= V);
  if (wrong === undefined) return;
  throw new ShapeError(where, `${name} must be numbers of the model's vocabulary`, {
    token: wrong,
    vocabulary: V,
  });
}

function startOf({ startToken }: SequenceToSequenceModel, { start }: GenerateOptions): readonly number[] {
  const tokens = start ?? (startToken === undefined ? [] : [startToken]);
  if (Array.isArray(tokens) && tokens.length > 0) return tokens;
  throw new ConfigError(where, 'start must name the first tokens of a target: the model names none', {
    start,
  });
}

function checkCache(
  { cache, chunkSize }: GenerateOptions,
  decoder: CausalModel,
  {
    batch,
    isEncoding,
    beams,
  }: { readonly batch: number; readonly isEncoding: boolean; readonly beams: number },
): void {
  if (!cache) {
    if (chunkSize !== undefined) throw new ConfigError(where, 'chunkSize needs a cache', { chunkSize });
    return;
  }
  const [entries, layers] = [cache.self[0]?.shape.batch, decoder.cacheShapes(batch).self.length];
  if (entries !== batch || cache.self.length !== layers)
    throw new ShapeError(where, 'the cache must fit the model and the batch, which beams multiply', {
      'the cache has': `${cache.self.length} layers, ${entries} entries`,
      needed: `${layers} layers, ${batch} entries`,
    });
  const isFresh = [...cache.self, ...(cache.cross ?? [])].every(
    (own) => (!own.sealed || own.source) && own.nextOrder.every((n) => n === 0),
  );
  if (isEncoding && !isFresh) throw new ConfigError(where, 'a source needs a cache that is empty: reset it');
  if (beams > 1 && withRows(cache.self).some((own) => !own.select))
    throw new UnsupportedError(where, 'beams need caches with `select`', ['a cache of the plan has none']);
}

/** @throws ShapeError where the model has no positions for them */
function newTokens(
  { maxLength }: CausalModel,
  prompts: readonly (readonly number[])[],
  { cache, maxTokens }: GenerateOptions,
): number {
  if (maxLength === undefined) return maxTokens ?? defaultTokens;
  const held = cache?.self[0]?.nextOrder ?? [];
  const length = Math.max(...prompts.map((prompt, b) => prompt.length + (held[b] ?? 0)));
  const most = maxLength - length + 1; // the last token is given, not read
  if (most >= (maxTokens ?? 1)) return maxTokens ?? most;
  throw new ShapeError(where, 'prompt and new tokens must fit the positions of the model', {
    'tokens of the prompt': length,
    'new tokens': maxTokens,
    'positions of the model': maxLength,
  });
}

function padded(prompts: readonly (readonly number[])[]) {
  const lengths = prompts.map(({ length }) => length);
  const S = Math.max(...lengths);
  const ids = new Int32Array(S * prompts.length);
  prompts.forEach((prompt, b) => {
    ids.set(prompt, b * S);
  });
  return { ids, lengths };
}
