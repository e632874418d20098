// What bytes of a cache say of it, and whether that fits: they may come from anywhere.
import {
  type CacheShape,
  ConfigError,
  type KeyValueCache,
  type KeyValuePart,
  ShapeError,
  type Span,
} from '@polyhead/core';
import { isCount } from './check-rows';
import { formatOfFloats } from './quantized-rows';
import { RowCache } from './row-cache';
import type { TokenRows } from './row-storage';
import type { Tokens } from './stored-rows';
import type { TokenRuns } from './token-runs';

export const magic = 0x564b4850; // 'PHKV', little-endian as all numbers here
export const version = 1;
export const headBytes = 12; // magic, version, bytes of the description

/** What stands before the numbers, as JSON. Each part's rows lie as `packedLayout` has them. */
export interface Description {
  readonly kind: string;
  readonly shape: CacheShape;
  readonly options: object;
  readonly sealed: boolean;
  readonly valueSize: number; // of rows, also where values are columns of keys
  readonly valueColumn: number;
  readonly tokens: Tokens;
  /** Tokens of each batch entry, and tensors in turn: keys with scales and zeros, then values. */
  readonly parts: readonly { readonly counts: readonly number[]; readonly formats: readonly Format[] }[];
}

/** What a cache keeps to itself. */
interface Inside {
  readonly held: Parts;
  readonly options: object;
  readonly valueColumn: number;
  tokens: Tokens;
  retained(length: number): readonly Span[];
  checkSpace(counts: readonly number[]): void;
  append(rows: TokenRows): Parts;
  settle?(parts: Parts): Parts;
  hold(parts: Parts): void;
  /** How rows may lie, where they are not floats. */
  formatsOf?(name: 'key' | 'value'): readonly object[];
}

export type Parts = readonly KeyValuePart[];

/** How the rows of a tensor are kept: columns of data, and of scales and zeros for so many rows together. */
export interface Format {
  readonly bits: 4 | 8 | 32;
  readonly columns: number;
  readonly scales: number;
  readonly hasZero: boolean;
  readonly rowsPerScale: number;
}

export function kindOf(cache: RowCache): string {
  return (cache.constructor as unknown as { readonly kind?: string }).kind ?? cache.constructor.name;
}

export function checkCache(where: string, cache: RowCache): void {
  if ((cache as KeyValueCache)?.source)
    throw new ConfigError(where, 'a view holds no rows: its source has them', { cache });
  if (!(cache instanceof RowCache))
    throw new ConfigError(where, 'cache must be a cache of rows, as of kv-cache', { cache });
}

export function readDescription(
  where: string,
  bytes: Uint8Array,
): { description: Description; from: number } {
  if (!(bytes instanceof Uint8Array)) throw new ConfigError(where, 'bytes must be a Uint8Array', { bytes });
  const [first, written, length] = new Uint32Array(
    bytes.slice(0, headBytes - (bytes.length < headBytes ? headBytes : 0)).buffer,
  );
  if (first !== magic) throw new ConfigError(where, 'bytes must be those of cacheToBytes', {});
  if (written !== version)
    throw new ConfigError(where, `bytes must be of version ${version}`, { version: written });
  const from = headBytes + length!;
  try {
    if (from > bytes.length) throw new RangeError('it ends early');
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(headBytes, from));
    return { description: JSON.parse(text), from };
  } catch (error) {
    throw new ConfigError(where, 'the description of the bytes must be whole', { reason: String(error) });
  }
}

/** @throws ConfigError, ShapeError for what does not fit the cache, or does not fit together */
export function checkDescription(where: string, description: Description, cache: RowCache): void {
  const { shape } = cache;
  const { options, formatsOf, retained } = inside(cache);
  const formats = (name: 'key' | 'value') =>
    formatsOf?.call(cache, name) ?? [formatOfFloats(shape[`${name}Size`])];
  const own = { kind: kindOf(cache), shape, options: optionsOf(options) };
  const read = { kind: description?.kind, shape: description?.shape, options: description?.options };
  if (text(read) !== text(own))
    throw new ConfigError(where, 'bytes must be of a cache of the same kind, shape and options', {
      bytes: text(read).slice(0, 400),
      cache: text(own),
    });
  const { parts, tokens, valueSize, valueColumn, sealed } = description;
  const { lengths, orders, positions } = tokens ?? {};
  const isList = (list: unknown): list is readonly unknown[] =>
    Array.isArray(list) && list.length === shape.batch;
  const fits =
    typeof sealed === 'boolean' &&
    isList(lengths) &&
    lengths.every(isCount) &&
    [orders, positions].every(
      (runs) => isList(runs) && runs.every((each, b) => sums(each as TokenRuns, lengths[b]!)),
    ) &&
    orders.every(rises) &&
    Array.isArray(parts) &&
    (formatsOf !== undefined || parts.length <= 1) &&
    parts.every(
      (part: Description['parts'][number]) =>
        isList(part?.counts) &&
        part.counts.every(isCount) &&
        Array.isArray(part.formats) &&
        part.formats.every(
          (format, m) =>
            formats(m === 0 ? 'key' : 'value').some((allowed) => text(allowed) === text(pick(format))) &&
            part.counts.every((count) => count % format.rowsPerScale === 0),
        ) &&
        part.formats.length === (shape.valueSize > 0 ? 2 : 1),
    ) &&
    lengths.every((length, b) => parts.reduce((sum, { counts }) => sum + counts[b]!, 0) === length) &&
    (shape.valueSize > 0
      ? valueSize === shape.valueSize
      : isCount(valueSize) && isCount(valueColumn) && valueColumn + valueSize <= shape.keySize);
  if (!fits) throw new ShapeError(where, 'the tokens and rows of the bytes must fit together', { shape });
  inside(cache).checkSpace(lengths);
  if (
    lengths.every((length) => retained.call(cache, length).reduce((sum, [a, b]) => sum + b - a, 0) === length)
  )
    return;
  throw new ShapeError(where, 'so many tokens must fit into the cache', { lengths });
}

/** What a cache keeps to itself, to those of this package. */
export const inside = (cache: RowCache): Inside => cache as unknown as Inside;

/** Space is no property of what is held. */
export function optionsOf(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([name]) => name !== 'capacity'));
}

const pick = ({ bits, columns, scales, hasZero, rowsPerScale }: Format): Format => ({
  ...{ bits, columns, scales, hasZero, rowsPerScale },
});

/** JSON whose keys are sorted. */
function text(value: unknown): string {
  const sorted = (_: string, x: unknown) =>
    typeof x === 'object' && x !== null && !Array.isArray(x)
      ? Object.fromEntries(Object.entries(x).sort(([a], [b]) => (a < b ? -1 : 1)))
      : x;
  return JSON.stringify(value, sorted) ?? '';
}

const is32 = (n: number) => Number.isInteger(n) && Math.abs(n) < 2 ** 31;

function sums(runs: TokenRuns, length: number): boolean {
  if (!Array.isArray(runs)) return false;
  const all = runs as TokenRuns;
  const fits = all.every((run) => is32(run?.first) && isCount(run.count) && is32(run.first + run.count));
  return fits && all.reduce((sum, { count }) => sum + count, 0) === length;
}

/** Token order: from 0 on, and never twice. */
function rises(runs: TokenRuns): boolean {
  return runs.every(({ first }, n) => first >= (n === 0 ? 0 : runs[n - 1]!.first + runs[n - 1]!.count));
}
