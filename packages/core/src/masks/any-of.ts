import { checkMask, visibleSpans, withNormalSpans } from '../checks/check-mask';
import { ConfigError } from '../contract/errors';
import type { Mask, Span } from '../contract/mask';
import { uniteSpans } from './spans';

/**
 * Pairs that at least one mask lets through. Without masks: none.
 *
 * @throws ConfigError for a dense mask: spans and tensors can be and-ed only
 */
export function anyOf(...masks: readonly Mask[]): Mask {
  for (const mask of masks) checkMask('anyOf', mask);
  const tensor = masks.find((mask) => mask.dense);
  if (tensor) {
    throw new ConfigError('anyOf', 'a dense mask cannot be or-ed; write dense(tf.logicalOr(one, other))', {
      masks: masks.map((mask) => mask.name),
    });
  }
  return withNormalSpans({
    name: `anyOf(${masks.map((mask) => mask.name).join(', ')})`,
    perBatch: masks.some((mask) => mask.perBatch),
    perHead: masks.some((mask) => mask.perHead),
    spans(row) {
      const all: Span = [-Infinity, row.end];
      return masks.reduce<readonly Span[]>(
        (visible, mask) => uniteSpans(visible, visibleSpans(mask, row, all)),
        [],
      );
    },
    check(call) {
      for (const mask of masks) mask.check?.(call);
    },
  });
}
