import { tokenStart, visibleSpans, withNormalSpans } from '../checks/check-mask';
import { withKind } from '../contract/json';
import type { Mask, MaskRow, Span } from '../contract/mask';
import { combine } from './combine';
import { intersectSpans } from './spans';

/**
 * Pairs that every mask lets through. Without masks: all pairs. Where one of them is left padding, the others count tokens
 * from the first behind it.
 *
 * @throws ConfigError for what is no mask
 */
export const allOf = /* @__PURE__ */ withKind('allOf', ['...masks'], (...masks: readonly Mask[]): Mask => {
  return withNormalSpans(combine('allOf', masks, intersection));
});

function intersection(masks: readonly Mask[]): Pick<Mask, 'spans' | 'start' | 'dense'> {
  const dense = masks.flatMap((mask) => mask.dense ?? []);
  const starting = masks.filter((mask) => mask.start);
  const start = (b: number) =>
    starting.reduce((last, mask) => Math.max(last, tokenStart(mask, b)), -Infinity);
  const behindPadding = (row: MaskRow) => {
    const first = starting.length > 0 ? Math.max(row.start, start(row.b)) : row.start;
    return first === row.start ? row : { ...row, start: first };
  };
  return {
    spans(row) {
      const all: Span = [-Infinity, row.end];
      const inner = behindPadding(row);
      return masks.reduce<readonly Span[]>(
        (visible, mask) => intersectSpans(visible, visibleSpans(mask, inner, all)),
        [all],
      );
    },
    ...(starting.length > 0 && { start }),
    ...(dense.length > 0 && { dense }),
  };
}
