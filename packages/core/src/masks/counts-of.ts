import { ConfigError } from '../contract/errors';

/**
 * A copy of a list, or typed array, of counts.
 *
 * @throws ConfigError unless each is a whole number of at least 0
 */
export function countsOf(where: string, name: string, counts: unknown): readonly number[] {
  const isList = Array.isArray(counts) || (ArrayBuffer.isView(counts) && 'length' in counts);
  const copy = isList ? Array.from(counts as ArrayLike<unknown>) : [];
  if (isList && copy.every((count) => Number.isInteger(count) && (count as number) >= 0))
    return copy as number[];
  throw new ConfigError(where, `${name} must be a list of whole numbers of at least 0`, { [name]: counts });
}

/** True where the entries of a list are lists themselves. */
export function isListOfLists<T>(
  list: readonly T[] | readonly (readonly T[])[],
): list is readonly (readonly T[])[] {
  return Array.isArray(list) && list.length > 0 && typeof list[0] === 'object';
}
