// What every layer calls with its heads: rotate, stage, tables, attend, commit.
import * as tf from '@tensorflow/tfjs-core';
import { cleanTidy } from '../backend/clean-tidy';
import { checkTokenPositions } from '../checks/check-positions';
import { ConfigError, UnsupportedError } from '../contract/errors';
import type { AttendOptions, AttendResult, AttentionInputs, AttentionKernel } from '../contract/kernel';
import type { KeyValueCache } from '../contract/key-value-cache';
import type { LayerWeights, PositionMethod, Positions, TokenPositions } from '../contract/position';
import { attend } from '../kernel/attend';
import { distancesBetween } from '../kernel/token-positions';

export interface HeadsCall extends Omit<AttendOptions, 'relative' | 'positions'> {
  readonly query: tf.Tensor4D; // [B, Hq, Sq, D]
  readonly key?: tf.Tensor4D; // [B, Hkv, Skv, D]; absent: the rows of a sealed cache
  readonly value?: tf.Tensor4D; // [B, Hkv, Skv, Dv]
  readonly cross: boolean; // keys are other tokens than the queries
  readonly kernel: AttentionKernel;
  readonly position?: PositionMethod;
  readonly layer?: LayerWeights; // for position methods that compute with its weights
  readonly cache?: KeyValueCache;
  readonly lengths?: readonly number[];
  readonly positions?: readonly TokenPositions[];
}

/**
 * Attention of projected heads, with positions and a cache where the call has them. A call that fails leaves the cache
 * as it was.
 *
 * @throws ConfigError, ShapeError, UnsupportedError as `attend` does
 */
export function attendHeads(call: HeadsCall): AttendResult {
  const { cross, cache, positions, lengths, kernel, query, key, value, layer, position, ...options } = call;
  checkSelfOnly(call);
  checkCache(call);
  checkGivenPositions(call);
  return cleanTidy(() => {
    const at = positionsOfNewRows(call);
    const rotate = (heads: tf.Tensor4D, role: 'query' | 'key') =>
      position?.rotate?.(heads, role, at[role]) ?? heads;
    const q = rotate(query, 'query');
    const rows = key && value ? { key: rotate(key, 'key'), value } : undefined;
    const staged = rows && cache?.stage({ ...rows, ...(lengths && { lengths }), positions: at.key[0]! });
    const stored = staged?.stored ?? cache?.read();
    const inputs: AttentionInputs = stored ? { query: q, stored } : { query: q, ...rows! };
    const known: Positions = { query: at.query[0]!, key: stored?.positions ?? at.key[0]! };
    const Skv = stored ? Math.max(...stored.lengths) : key!.shape[2];
    const distances = distancesBetween(known, [query.shape[2], Skv], {
      query: lengths,
      key: stored?.lengths,
    });
    const relative = position?.tables?.(query, distances, layer);
    const result = attend(kernel, inputs, {
      ...options,
      ...(options.queryStart === undefined && cache && !cross && { queryStart: cache.nextOrder }),
      ...(position && { positions: known }),
      ...(relative && { relative }),
    });
    staged?.commit();
    return result;
  });
}

/** Positions of the rows of this call, one for each section: given, or counted on from the cache, or from 0. */
function positionsOfNewRows({ query, key, cross, cache, lengths, positions }: HeadsCall) {
  const next = cache?.nextPosition ?? [0];
  const ofKeys: readonly TokenPositions[] = [{ start: next }];
  if (!cross) return { query: positions ?? ofKeys, key: positions ?? ofKeys };
  // Other tokens: the last query stands at the last key, as token order has it, unless positions are given.
  const newRows = (b: number) => lengths?.[b] ?? key?.shape[2] ?? 0;
  const start = next.map((position, b) => position + newRows(b) - query.shape[2]);
  return { query: positions ?? [{ start }], key: ofKeys };
}

function checkSelfOnly({ cross, position }: HeadsCall): void {
  if (!cross || !position?.selfOnly) return;
  throw new UnsupportedError('attendHeads', 'the position method has no meaning in cross-attention', [
    'keys are other tokens than the queries: a layer that attends to others gets no position method, or another',
  ]);
}

function checkGivenPositions({ query, positions }: HeadsCall): void {
  if (positions === undefined) return;
  if (!Array.isArray(positions) || positions.length === 0) {
    throw new ConfigError('attendHeads', 'positions must be a list, with one entry for each section', {
      positions,
    });
  }
  positions.forEach((entry: TokenPositions, n) => {
    checkTokenPositions('attendHeads', `positions[${n}]`, entry, [query.shape[0], query.shape[2]]);
  });
}

function checkCache({ key, cache, lengths }: HeadsCall): void {
  if (!cache) {
    if (!key) throw new ConfigError('attendHeads', 'without a key there must be a sealed cache to read');
    if (lengths)
      throw new ConfigError('attendHeads', 'lengths count new rows of a cache; without one use validLengths');
    return;
  }
  if (!key && !cache.sealed)
    throw new ConfigError('attendHeads', 'only a sealed cache serves a call without a key');
  if (!key && lengths)
    throw new ConfigError('attendHeads', 'lengths count new rows: without a key there are none');
  if (tf.engine().state.gradientDepth === 0) return;
  throw new UnsupportedError('attendHeads', 'a cache cannot stand in a gradient', [
    'rows are written in place, so gradients through them would be silently zero',
  ]);
}
