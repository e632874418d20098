import { ConfigError } from '@polyhead/core';

/** How much of a call is computed at once. */
export interface TileOptions {
  /** Query rows computed at once, all heads that share a key/value head counted. Default: 64. */
  readonly rowsPerTile?: number;
  /** Keys computed at once. Default: 64. */
  readonly keysPerTile?: number;
}

export interface TileSizes {
  readonly rows: number;
  readonly keys: number;
}

/** @throws ConfigError for tiles that hold nothing */
export function tileSizes(where: string, { rowsPerTile = 64, keysPerTile = 64 }: TileOptions): TileSizes {
  for (const [name, size] of Object.entries({ rowsPerTile, keysPerTile })) {
    if (!Number.isInteger(size) || size < 1) {
      throw new ConfigError(where, `${name} must be a whole number of at least 1`, { [name]: size });
    }
  }
  return { rows: rowsPerTile, keys: keysPerTile };
}
