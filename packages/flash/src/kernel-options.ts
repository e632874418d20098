// What both kernels have in common: sizes of tiles, and what they refuse.
import { ConfigError } from '@polyhead/core';

/** How much of a call is computed at once. */
export interface TileOptions {
  /** Query rows computed at once, all heads that share a key/value head counted: 1 to 4096. Default: 64. */
  readonly rowsPerTile?: number;
  /** Keys computed at once: 1 to 4096. Default: 64. */
  readonly keysPerTile?: number;
}

export interface TileSizes {
  readonly rows: number;
  readonly keys: number;
}

const most = 4096; // a square of them is 64 MiB of scores

/** @throws ConfigError for tiles that hold nothing, or too much */
export function tileSizes(where: string, { rowsPerTile = 64, keysPerTile = 64 }: TileOptions): TileSizes {
  for (const [name, size] of Object.entries({ rowsPerTile, keysPerTile })) {
    if (!Number.isInteger(size) || size < 1 || size > most) {
      throw new ConfigError(where, `${name} must be a whole number from 1 to ${most}`, { [name]: size });
    }
  }
  return { rows: rowsPerTile, keys: keysPerTile };
}

/** Why no fused kernel returns weights, and what gives them. */
export const weightsRefused =
  'weights are an array of Sq x Skv, which this kernel never holds: take exactWeights() by attentionStatistics, or by ' +
  'withStatistics in a layer, or the kernel composed()';
