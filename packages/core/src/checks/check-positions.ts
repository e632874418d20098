import { ConfigError, ShapeError } from '../contract/errors';
import type { CallSizes } from '../contract/kernel';
import type { Positions, TokenPositions } from '../contract/position';
import { checkKnownOptions } from './check-config';

/** @throws ConfigError, ShapeError for positions that are not one for each token, or a start for each batch entry */
export function checkPositions(where: string, positions: Positions, { B, Sq, Skv }: CallSizes): void {
  if (typeof positions !== 'object' || positions === null)
    throw new ConfigError(where, 'positions must be { query, key }', { positions });
  checkKnownOptions(where, 'positions', positions, ['query', 'key']);
  checkTokenPositions(where, 'positions.query', positions.query, [B, Sq]);
  checkTokenPositions(where, 'positions.key', positions.key, [B, Skv]);
}

const isInt32 = (x: unknown) => typeof x === 'number' && x === Math.trunc(x) && Math.abs(x) < 2 ** 31;

/** A loop, since a token's positions pass here six times. */
function areStarts(start: readonly unknown[], S: number): boolean {
  for (let b = 0; b < start.length; b++) {
    const first = start[b];
    if (!isInt32(first) || !isInt32((first as number) + S)) return false;
  }
  return true;
}

/**
 * Judges where tokens stand: a start for each batch entry, or a number for each token.
 *
 * @param size batch entries, and tokens of each
 * @throws ConfigError for what are no positions, ShapeError for another number of them
 */
export function checkTokenPositions(
  where: string,
  name: string,
  positions: TokenPositions,
  [B, S]: readonly [number, number],
): void {
  const { start, each } = (positions ?? {}) as { start?: unknown; each?: unknown };
  const isStart = start !== undefined && start !== null;
  if (isStart && each !== undefined && each !== null)
    throw new ConfigError(where, `${name} must have a start or each, not both`, { [name]: positions });
  if (isStart) {
    // The last token counts, too: a kernel computes positions in 32 bits.
    if (!Array.isArray(start) || !areStarts(start, S)) {
      const rule = `${name}.start must be a list of whole numbers within 32 bits, the last token included`;
      throw new ConfigError(where, rule, { 'batch, tokens': [B, S], [name]: start });
    }
    if (start.length === 1 || start.length === B) return;
    throw new ShapeError(where, `${name}.start must have one number, or one for each batch entry`, {
      'batch, tokens': [B, S],
      [name]: start,
    });
  }
  if (!(each instanceof Int32Array)) {
    throw new ConfigError(where, `${name} must be { start: number[] } or { each: Int32Array }`, {
      [name]: positions,
    });
  }
  if (each.length === S || each.length === B * S) return;
  throw new ShapeError(where, `${name}.each must have one number for each token`, {
    'batch, tokens': [B, S],
    'numbers given': each.length,
  });
}
