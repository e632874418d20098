// What every config is checked for.
import { ConfigError } from '../contract/errors';

/** @throws ConfigError unless it is a finite number for which `holds` */
export function checkNumber(
  where: string,
  name: string,
  value: number,
  [holds, rule]: readonly [(x: number) => boolean, string],
): void {
  if (typeof value === 'number' && Number.isFinite(value) && holds(value)) return;
  const came: unknown = typeof value === 'string' ? JSON.stringify(value) : value; // '1' is not 1
  throw new ConfigError(where, `${name} must be ${rule}`, { [name]: came });
}

/** @throws ConfigError unless 0 <= rate < 1 */
export function checkRate(where: string, name: string, rate: number): void {
  checkNumber(where, name, rate, [(r) => r >= 0 && r < 1, 'at least 0 and below 1']);
}

/** @throws ConfigError unless it is 0, which switches it off, or above, and float32 holds it as such */
export function checkSoftcap(where: string, softcap: number): void {
  const holds = (c: number) => c === 0 || (Math.fround(c) > 0 && Math.fround(c) < Infinity);
  checkNumber(where, 'softcap', softcap, [holds, 'above 0 in float32, or 0 to switch it off']);
}

/** @throws ConfigError unless each is a whole number above 0 */
export function checkSizes(where: string, sizes: Readonly<Record<string, number>>): void {
  for (const name in sizes) checkNumber(where, name, sizes[name]!, aSize);
}

const aSize = [(n: number) => Number.isInteger(n) && n > 0, 'a whole number above 0'] as const;

/**
 * @param name the argument that holds the options
 * @throws ConfigError for an option that is not among those known
 */
export function checkKnownOptions(
  where: string,
  name: string,
  options: object,
  known: readonly string[],
): void {
  if (areKnown(options, known)) return;
  const unknown = Object.keys(options).filter((option) => !known.includes(option));
  throw new ConfigError(where, `${name} may hold known options only: none is ignored`, { unknown, known });
}

/** A loop, since a token's call asks. */
function areKnown(options: object, known: readonly string[]): boolean {
  for (const option in options) if (!known.includes(option)) return false;
  return true;
}

/** @throws ConfigError unless it is true, false or absent */
export function checkFlag(where: string, name: string, flag: unknown): void {
  if (flag === undefined || flag === null || typeof flag === 'boolean') return;
  throw new ConfigError(where, `${name} must be true or false`, { [name]: flag });
}

/** @throws ConfigError unless it is one of the names, or absent */
export function checkOneOf(where: string, name: string, value: unknown, names: readonly string[]): void {
  if (value === undefined || value === null || names.includes(value as string)) return;
  throw new ConfigError(where, `${name} must be one of ${names.join(', ')}`, { [name]: value });
}
