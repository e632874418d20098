import { ConfigError } from '../contract/errors';
import { checkKnownOptions } from './check-config';

/**
 * A copy of the options that were really given: null and undefined stand for absent ones.
 *
 * @throws ConfigError for what is no object, and for options that are not known: none is ever ignored
 */
export function normalizeOptions<T extends object>(
  where: string,
  name: string,
  options: T | null | undefined,
  known: readonly (keyof T & string)[],
): Partial<T> {
  const object = checkedObject(where, name, options, known);
  checkKnownOptions(where, name, object, known);
  return Object.fromEntries(
    Object.entries(object).filter(([, value]) => value !== undefined && value !== null),
  ) as Partial<T>;
}

/**
 * As `normalizeOptions`, for what is read at once and not kept: nearly always the object itself, in which undefined may
 * stand. A token's call passes four of them.
 *
 * @throws as `normalizeOptions` does
 */
export function optionsOfCall<T extends object>(
  where: string,
  name: string,
  options: T | null | undefined,
  known: readonly (keyof T & string)[],
): Partial<T> {
  const object = checkedObject(where, name, options, known);
  for (const option in object) {
    if (object[option] === null || !known.includes(option))
      return normalizeOptions(where, name, object, known);
  }
  return object;
}

function checkedObject<T extends object>(
  where: string,
  name: string,
  options: T | null | undefined,
  known: readonly string[],
): T {
  const isObject = typeof options === 'object' && options !== null && !Array.isArray(options);
  if (!isObject || 'then' in options)
    throw new ConfigError(where, `${name} must be an object`, { [name]: options, known });
  return options;
}
