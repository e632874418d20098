// What every layer calls with its heads: rotate, stage, tables, attend, merge, commit.
import * as tf from '@tensorflow/tfjs-core';
import { inAnyTidy } from '../backend/clean-tidy';
import { checkTokenPositions } from '../checks/check-positions';
import { ConfigError, UnsupportedError } from '../contract/errors';
import type { AttendOptions, AttendResult, AttentionInputs, AttentionKernel } from '../contract/kernel';
import type { KeyValueCache, StagedRows, StoredKeyValue } from '../contract/key-value-cache';
import type { LayerWeights, PositionMethod, Positions, TokenPositions } from '../contract/position';
import { attend } from '../kernel/attend';
import { distancesBetween } from '../kernel/token-positions';
import { turnedHeads, writeReserved } from './head-rows';
import { splitAs, type UnsplitHeads } from './heads';
import { checkView, firstOfCall } from './shared-rows';

/** Projected heads, and all that a call of a layer says. */
export interface HeadsCall extends Omit<AttendOptions, 'relative' | 'positions'> {
  /** [B, Hq, Sq, D] */
  readonly query: tf.Tensor4D | UnsplitHeads;
  /** [B, Hkv, Skv, D]; absent: the rows of a sealed cache. */
  readonly key?: tf.Tensor4D | UnsplitHeads | undefined;
  /** [B, Hkv, Skv, Dv] */
  readonly value?: tf.Tensor4D | UnsplitHeads | undefined;
  /** Keys are other tokens than the queries. */
  readonly cross: boolean;
  /** What computes attention. */
  readonly kernel: AttentionKernel;
  /** Default: tokens have no positions. */
  readonly position?: PositionMethod | undefined;
  /** The layer that calls: a cache is bound to it, and a position method may compute with its weights. */
  readonly layer?: LayerWeights | undefined;
  /** Default: no earlier tokens. */
  readonly cache?: KeyValueCache | undefined;
  /** [B]: new rows of the cache that count. Default: all. */
  readonly lengths?: readonly number[] | undefined;
  /** Where the tokens of the query stand, one entry for each section. Default: behind those of the cache, else from 0. */
  readonly positions?: readonly TokenPositions[] | undefined;
}

/**
 * Attention of projected heads, with positions and a cache where the call has them. Tensors made on the way belong to the
 * tidy that is open.
 *
 * @param merge makes the layer's result of what the kernel gives, which by default is the result. New rows become part of the cache after it, as the very
 *   last thing: a call that fails anywhere leaves the cache as it was
 * @throws ConfigError, ShapeError, UnsupportedError as `attend` does
 */
export function attendHeads<Result extends tf.TensorContainer = AttendResult>(
  call: HeadsCall,
  merge: (result: AttendResult) => Result = (result) => result as unknown as Result,
): Result {
  checkPositionMethod(call);
  checkCache(call);
  checkGivenPositions(call);
  return inAnyTidy(() => {
    const { query, cross, cache, kernel, position, layer } = call;
    const { inputs, positions, staged } = turnedInputs(call);
    if (cross) checkShowsAll(inputs);
    const options = optionsOf(call);
    options.relative = position?.tables?.(splitAs(query), distancesOf(call, inputs, positions), layer);
    if (position) options.positions = positions;
    if (inputs.stored && cache && !cross) options.queryStart ??= firstOfCall(call, cache.nextOrder);
    if (staged?.state) options.returns = [...(call.returns ?? []), 'state'];
    const result = attend(kernel, inputs, options as AttendOptions) as AttendResult;
    const merged = merge(staged?.state ? withoutState(result) : result);
    staged?.commit(result.state);
    return merged;
  });
}

type Options = { -readonly [option in keyof AttendOptions]: AttendOptions[option] };

/** What a call says beside the options of `attend`: all others go on to it, which refuses those that it does not know. */
const notOptions: ReadonlySet<string> = new Set<keyof HeadsCall>([
  ...(['query', 'key', 'value', 'cross', 'kernel'] as const),
  ...(['position', 'layer', 'cache', 'lengths', 'positions'] as const),
]);

function optionsOf(call: HeadsCall): Options {
  const options: Record<string, unknown> = {};
  for (const name in call) if (!notOptions.has(name)) options[name] = call[name as keyof HeadsCall];
  return options;
}

function withoutState({ state: _, ...result }: AttendResult): AttendResult {
  return result;
}

/** Rotated heads, beside the rows of the cache where there is one, and where all tokens stand. */
function turnedInputs(call: HeadsCall): {
  readonly inputs: AttentionInputs;
  readonly positions: Positions;
  readonly staged: StagedRows | undefined;
} {
  const { query, key, value, cache, position } = call;
  const at = positionsOfNewRows(call);
  const turned = turnedHeads(query, { position, role: 'query', at: at.query });
  const given = (stored: StoredKeyValue, staged?: StagedRows) => ({
    inputs: { query: turned, stored },
    positions: { query: at.query[0]!, key: stored.positions },
    staged,
  });
  if (!key || !value) return given(cache!.read());
  const newRows = { key, value, lengths: call.lengths, positions: at.key[0]!, layer: call.layer };
  const turning = { position, role: 'key', at: at.key } as const;
  const reserved = cache?.reserve?.(newRows);
  if (reserved) {
    writeReserved(reserved, newRows, turning);
    return given(reserved.stored, reserved);
  }
  const split = { key: turnedHeads(key, turning), value: splitAs(value) };
  const staged = cache?.stage({ ...newRows, ...split });
  if (staged?.stored) return given(staged.stored, staged);
  const inputs = { query: turned, ...split, state: staged?.state };
  return { inputs, positions: { query: at.query[0]!, key: at.key[0]! }, staged };
}

/** The distances that can occur between rows that count. */
function distancesOf({ query, key, lengths }: HeadsCall, { stored }: AttentionInputs, positions: Positions) {
  const Skv = stored ? Math.max(...stored.lengths) : key!.shape[2];
  return distancesBetween(positions, [query.shape[2], Skv], { query: lengths, key: stored?.lengths });
}

/** Positions of the rows of this call, one for each section: given, or counted on from the cache, or from 0. */
function positionsOfNewRows({ query, key, cross, cache, lengths, positions }: HeadsCall) {
  const next = cache ? firstOfCall({ query, cache, lengths }, cache.nextPosition) : [0];
  const ofKeys: readonly TokenPositions[] = [{ start: next }];
  if (!cross) return { query: positions ?? ofKeys, key: positions ?? ofKeys };
  // Other tokens: the last query stands at the last key, as token order has it, unless positions are given.
  const newRows = (b: number) => lengths?.[b] ?? key?.shape[2] ?? 0;
  const start = next.map((position, b) => position + newRows(b) - query.shape[2]);
  return { query: positions ?? [{ start }], key: ofKeys };
}

function checkPositionMethod({ cross, position }: HeadsCall): void {
  if (!cross || !position?.selfOnly) return;
  throw new UnsupportedError('attendHeads', 'the position method has no meaning in cross-attention', [
    'keys are other tokens than the queries: a layer that attends to others gets no position method, or another',
    "where the keys given are the queries' own tokens, say cross: false",
  ]);
}

/** What a ring hides, it hides by token order: of other tokens than the queries, some would be left out unnoticed. */
function checkShowsAll({ stored }: AttentionInputs): void {
  if (!stored?.mask) return;
  throw new UnsupportedError('attendHeads', 'in cross-attention a cache must show all keys', [
    'the cache hides keys by their distance from the query, which other tokens have not: take one that forgets none',
  ]);
}

function checkGivenPositions({ query, positions, position, cache }: HeadsCall): void {
  if (positions === undefined) return;
  if (!position && !cache) {
    throw new ConfigError('attendHeads', 'positions need a position method, or a cache that keeps them', {
      positions,
    });
  }
  if (!Array.isArray(positions) || positions.length === 0) {
    throw new ConfigError('attendHeads', 'positions must be a list, with one entry for each section', {
      positions,
    });
  }
  positions.forEach((entry: TokenPositions, n) => {
    checkTokenPositions('attendHeads', `positions[${n}]`, entry, [query.shape[0], query.shape[2]]);
  });
}

function checkCache(call: HeadsCall): void {
  const { key, cache, lengths } = call;
  if (!cache) {
    if (!key) throw new ConfigError('attendHeads', 'without a key there must be a sealed cache to read');
    if (lengths)
      throw new ConfigError('attendHeads', 'lengths count new rows of a cache; without one use validLengths');
    return;
  }
  if (!key && !cache.sealed)
    throw new ConfigError('attendHeads', 'only a sealed cache serves a call without a key');
  if (!key && cache.source) checkView(call, cache);
  else if (!key && lengths)
    throw new ConfigError('attendHeads', 'lengths count new rows: without a key there are none');
  if (tf.engine().state.gradientDepth === 0) return;
  throw new UnsupportedError('attendHeads', 'a cache cannot stand in a gradient', [
    'rows are written in place, so gradients through them would be silently zero',
  ]);
}
