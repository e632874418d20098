import { checkMask } from '../checks/check-mask';
import { ConfigError } from '../contract/errors';
import type { Mask } from '../contract/mask';
import { normalizeSpans } from './spans';

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
  return {
    name: `anyOf(${masks.map((mask) => mask.name).join(', ')})`,
    perBatch: masks.some((mask) => mask.perBatch),
    perHead: masks.some((mask) => mask.perHead),
    spans: (row) =>
      normalizeSpans(
        masks.flatMap((mask) => mask.spans(row)),
        [-Infinity, row.end],
      ),
    check(call) {
      for (const mask of masks) mask.check?.(call);
    },
  };
}
