// What configs of several position methods are checked for.
import { ConfigError, checkNumber } from '@polyhead/core';

/** @throws ConfigError unless each is true, false or left out */
export function checkFlags(where: string, flags: Readonly<Record<string, unknown>>): void {
  for (const [name, flag] of Object.entries(flags)) {
    if (flag === undefined || typeof flag === 'boolean') continue;
    throw new ConfigError(where, `${name} must be true or false`, { [name]: flag });
  }
}

/** @throws ConfigError unless it is one of those known */
export function checkOneOf(where: string, name: string, value: string, known: readonly string[]): void {
  if (known.includes(value)) return;
  throw new ConfigError(where, `${name} must be one of ${known.join(', ')}`, { [name]: value });
}

/** @throws ConfigError unless it is a whole number, or left out */
export function checkSeed(where: string, seed: number | undefined): void {
  if (seed !== undefined) checkNumber(where, 'seed', seed, [Number.isInteger, 'a whole number']);
}
