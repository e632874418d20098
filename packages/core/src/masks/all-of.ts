import { tokenStart, visibleSpans, withNormalSpans } from '../checks/check-mask';
import { withKind } from '../contract/json';
import type { Mask, Span } from '../contract/mask';
import { combine } from './combine';
import { intersectSorted } from './spans';

/**
 * Pairs that every mask lets through. Without masks: all pairs. Where one of them is left padding, the others count tokens
 * from the first behind it.
 *
 * @throws ConfigError for what is no mask
 */
export const allOf = /* @__PURE__ */ withKind('allOf', ['...masks'], (...masks: readonly Mask[]): Mask => {
  const intersection = combine('allOf', masks, (all) => {
    const dense = masks.flatMap((mask) => mask.dense ?? []);
    const isBehindPadding = masks.some((mask) => mask.start);
    const start = (b: number) =>
      all().reduce((last, mask) => (mask.start ? Math.max(last, tokenStart(mask, b)) : last), -Infinity);
    return {
      spans(row) {
        const first = isBehindPadding ? Math.max(row.start, start(row.b)) : row.start;
        const inner = first === row.start ? row : { ...row, start: first };
        const every: Span = [-Infinity, row.end];
        return all().reduce<readonly Span[]>(
          (visible, mask) => intersectSorted(visible, visibleSpans(mask, inner, every)),
          [every],
        );
      },
      ...(isBehindPadding && { start }),
      ...(dense.length > 0 && { dense }),
    };
  });
  return withNormalSpans(intersection);
});
