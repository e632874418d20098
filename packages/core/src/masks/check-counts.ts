import { ConfigError } from '../errors';

/** @throws ConfigError unless each is a whole number of at least 0 */
export function checkCounts(where: string, name: string, counts: readonly number[]): void {
  if (counts.every((count) => Number.isInteger(count) && count >= 0)) return;
  throw new ConfigError(where, `${name} must be whole numbers of at least 0`, { [name]: counts });
}
