import { tokenStart, visibleSpans, withNormalSpans } from '../checks/check-mask';
import { ConfigError } from '../contract/errors';
import { withKind } from '../contract/json';
import type { Mask, Span } from '../contract/mask';
import { combine } from './combine';
import { uniteSpans } from './spans';

/**
 * Pairs that at least one mask lets through. Without masks: none.
 *
 * @throws ConfigError for what is no mask, and for a dense mask: spans and tensors can be and-ed only
 */
export const anyOf = /* @__PURE__ */ withKind('anyOf', ['...masks'], (...masks: readonly Mask[]): Mask => {
  const union = combine('anyOf', masks, (all) => {
    if (masks.some((mask) => mask.dense)) {
      throw new ConfigError('anyOf', 'a dense mask cannot be or-ed; write dense(tf.logicalOr(one, other))', {
        masks: masks.map((mask) => mask.name),
      });
    }
    const areBehindPadding = masks.length > 0 && masks.every((mask) => mask.start);
    return {
      spans(row) {
        const every: Span = [-Infinity, row.end];
        return all().reduce<readonly Span[]>(
          (visible, mask) => uniteSpans(visible, visibleSpans(mask, row, every)),
          [],
        );
      },
      ...(areBehindPadding && {
        start: (b: number) => all().reduce((first, mask) => Math.min(first, tokenStart(mask, b)), Infinity),
      }),
    };
  });
  return withNormalSpans(union);
});
