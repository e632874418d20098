import { ConfigError } from '../contract/errors';
import type { Mask } from '../contract/mask';

/**
 * Tokens are cut into chunks of `size`, and a query sees the keys of its own chunk (block-local attention).
 *
 * @throws ConfigError for a size that is not a whole number above 0
 */
export function chunks(size: number): Mask {
  if (!Number.isInteger(size) || size < 1) {
    throw new ConfigError('chunks', 'size must be a whole number above 0', { size });
  }
  return {
    name: `chunks(${size})`,
    perBatch: false,
    perHead: false,
    spans({ query }) {
      const first = Math.floor(query / size) * size;
      return [[first, first + size]];
    },
  };
}
