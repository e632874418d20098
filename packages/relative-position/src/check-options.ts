// What configs of several position methods are checked for.
import { ConfigError } from '@polyhead/core';
import { checkFlag, checkNumber, checkSizes } from '@polyhead/core/layer';

/** @throws ConfigError unless each is true, false or left out */
export function checkFlags(where: string, flags: Readonly<Record<string, unknown>>): void {
  for (const [name, flag] of Object.entries(flags)) checkFlag(where, name, flag);
}

/** @throws ConfigError unless it is a whole number, or left out */
export function checkSeed(where: string, seed: number | undefined): void {
  if (seed !== undefined) checkNumber(where, 'seed', seed, [Number.isInteger, 'a whole number']);
}

/** @throws ConfigError unless each is a whole number above 0, of which a list with so many entries can be made */
export function checkCounts(where: string, counts: Readonly<Record<string, number>>): void {
  checkSizes(where, counts);
  for (const [name, count] of Object.entries(counts)) {
    checkNumber(where, name, count, [(n) => n <= 2 ** 20, `at most ${2 ** 20}`]);
  }
}

/** @throws ConfigError unless it is a height and a width, both whole numbers above 0 */
export function checkHeightWidth(where: string, name: string, sizes: readonly number[]): void {
  if (!Array.isArray(sizes) || sizes.length !== 2) {
    throw new ConfigError(where, `${name} must be [height, width]`, { [name]: sizes });
  }
  const [height, width] = sizes as [number, number];
  checkSizes(where, { [`${name} height`]: height, [`${name} width`]: width });
}
