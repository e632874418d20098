import { ConfigError } from '../contract/errors';
import { checkKnownOptions } from './check-config';

/**
 * The options that were really given: null and undefined stand for absent ones.
 *
 * @throws ConfigError for what is no object, and for options that are not known: none is ever ignored
 */
export function normalizeOptions<T extends object>(
  where: string,
  name: string,
  options: T | null | undefined,
  known: readonly (keyof T & string)[],
): Partial<T> {
  const isObject = typeof options === 'object' && options !== null && !Array.isArray(options);
  if (!isObject) throw new ConfigError(where, `${name} must be an object`, { [name]: options, known });
  checkKnownOptions(where, name, options, known);
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined && value !== null),
  ) as Partial<T>;
}
