import { ConfigError } from '../contract/errors';
import { withKind } from '../contract/json';
import type { Mask } from '../contract/mask';

/**
 * Tokens are cut into chunks of `size`, and a query sees the keys of its own chunk (block-local attention). The first chunk
 * begins at the entry's first token, behind left padding.
 *
 * @throws ConfigError for a size that is not a whole number above 0
 */
export const chunks = /* @__PURE__ */ withKind('chunks', ['size'], (size: number): Mask => {
  if (!Number.isInteger(size) || size < 1) {
    throw new ConfigError('chunks', 'size must be a whole number above 0', { size });
  }
  return {
    name: `chunks(${size})`,
    perBatch: false,
    perHead: false,
    spans({ query, start }) {
      const first = start + Math.floor((query - start) / size) * size;
      return [[first, first + size]];
    },
    toJSON: () => ({ kind: 'chunks', size }),
  };
});
