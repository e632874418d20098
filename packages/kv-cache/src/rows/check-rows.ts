// What a cache is given is judged here.
import {
  type CacheShape,
  type ComingRows,
  ConfigError,
  ShapeError,
  type TokenPositions,
} from '@polyhead/core';
import {
  checkNumber,
  checkSizes,
  checkTensor,
  checkTokenPositions,
  normalizeOptions,
  optionsOfCall,
} from '@polyhead/core/layer';

/** New rows as they were given, and the tokens of each batch entry that count. */
export type CheckedRows<Rows extends ComingRows> = Omit<Rows, 'lengths'> & {
  readonly counts: readonly number[];
};

const mostEntries = 2 ** 20;

/** @throws ConfigError unless all sizes are there, and nothing else */
export function checkShape(where: string, shape: CacheShape): CacheShape {
  const sizes = normalizeOptions(where, 'shape', shape, ['batch', 'heads', 'keySize', 'valueSize']);
  const { batch, heads, keySize, valueSize } = sizes as CacheShape;
  checkSizes(where, { batch, heads, keySize });
  checkNumber(where, 'batch', batch, [(n) => n <= mostEntries, `at most ${mostEntries}`]);
  checkNumber(where, 'valueSize', valueSize, [isCount, 'a whole number; 0: values are columns of the keys']);
  return { batch, heads, keySize, valueSize };
}

interface RowsToCheck<Rows> {
  readonly rows: Rows;
  /** Of the rows held; undefined where any will do, since they are columns of the keys. */
  readonly valueSize: number | undefined;
  /** Their numbers are there. Default: true. */
  readonly areTensors?: boolean;
}

/**
 * @throws ShapeError or ConfigError, naming the argument
 */
export function checkRows<Rows extends ComingRows>(
  where: string,
  { batch, heads, keySize }: CacheShape,
  { rows, valueSize, areTensors = true }: RowsToCheck<Rows>,
): CheckedRows<Rows> {
  const {
    key,
    value,
    lengths,
    layer,
    positions: unchecked,
  } = optionsOfCall(where, 'rows', rows, namesOfRows) as Rows;
  checkHeads(where, ['key', key], [batch, heads, keySize], areTensors);
  checkHeads(where, ['value', value], [batch, heads, valueSize], areTensors);
  const S = key.shape[2];
  if (value.shape[2] !== S) throw new ShapeError(where, 'value must have the length of key', { key, value });
  const positions = checkedPositions(where, unchecked, [batch, S]);
  if (layer !== undefined && typeof layer.name !== 'string') {
    throw new ConfigError(where, 'layer must have a name', { layer });
  }
  const all = Array<number>(batch).fill(S);
  const counts = lengths === undefined ? all : checkLengths(where, lengths, all);
  return { key, value, layer, positions, counts } as CheckedRows<Rows>;
}

const namesOfRows = ['key', 'value', 'lengths', 'positions', 'layer'] as const;
const namesOfPositions = ['start', 'each'] as (keyof TokenPositions)[];

function checkedPositions(
  where: string,
  positions: TokenPositions | undefined,
  size: readonly [batch: number, tokens: number],
): TokenPositions | undefined {
  if (positions === undefined) return undefined;
  const checked = optionsOfCall(where, 'positions', positions, namesOfPositions) as TokenPositions;
  checkTokenPositions(where, 'positions', checked, size);
  return checked;
}

/**
 * @returns a copy
 * @throws ShapeError or ConfigError unless there is one for each batch entry, from 0 to `most`
 */
export function checkLengths(
  where: string,
  lengths: readonly number[],
  most: readonly number[],
): readonly number[] {
  if (!Array.isArray(lengths)) throw new ConfigError(where, 'lengths must be a list of numbers', { lengths });
  if (lengths.length !== most.length) {
    throw new ShapeError(where, 'lengths must have one number for each batch entry', {
      lengths,
      batch: most.length,
    });
  }
  const all = Array.from<number>(lengths); // a hole becomes undefined, which is no number
  if (!all.every(isCount)) {
    throw new ConfigError(where, 'lengths must be whole numbers of at least 0', { lengths });
  }
  if (all.every((length, b) => length <= most[b]!)) return all;
  throw new ShapeError(where, 'lengths must not go beyond the tokens there are', { lengths, tokens: most });
}

/**
 * @returns a copy
 * @throws ShapeError or ConfigError unless there is the number of a batch entry for each batch entry
 */
export function checkEntries(where: string, entries: readonly number[], batch: number): readonly number[] {
  if (!Array.isArray(entries)) throw new ConfigError(where, 'entries must be a list of numbers', { entries });
  if (entries.length !== batch) {
    throw new ShapeError(where, 'entries must have one number for each batch entry', { entries, batch });
  }
  const all = Array.from<number>(entries);
  if (all.every((entry) => isCount(entry) && entry < batch)) return all;
  throw new ConfigError(where, 'entries must be numbers of batch entries', { entries, batch });
}

function checkHeads(
  where: string,
  [name, rows]: readonly ['key' | 'value', ComingRows['key']],
  [batch, heads, size]: readonly [number, number, number | undefined],
  areTensors: boolean,
): void {
  if (areTensors || rows?.shape?.length !== 4) checkTensor(where, name, rows, ['[B, Hkv, S, D]']);
  const [B, H, , D] = rows.shape;
  if (B === batch && H === heads && (size === undefined || D === size)) return;
  const rule = `${name} must fit the cache: [${batch}, ${heads}, S, ${size ?? 'any'}]`;
  throw new ShapeError(where, rule, { [name]: rows });
}

export function isCount(x: unknown): boolean {
  return Number.isInteger(x) && (x as number) >= 0;
}
