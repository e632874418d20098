import { checkMask, visibleSpans, withNormalSpans } from '../checks/check-mask';
import type { Mask, Span } from '../contract/mask';
import { intersectSpans } from './spans';

/** Pairs that every mask lets through. Without masks: all pairs. */
export function allOf(...masks: readonly Mask[]): Mask {
  for (const mask of masks) checkMask('allOf', mask);
  const dense = masks.flatMap((mask) => mask.dense ?? []);
  return withNormalSpans({
    name: `allOf(${masks.map((mask) => mask.name).join(', ')})`,
    perBatch: masks.some((mask) => mask.perBatch),
    perHead: masks.some((mask) => mask.perHead),
    spans(row) {
      const all: Span = [-Infinity, row.end];
      return masks.reduce<readonly Span[]>(
        (visible, mask) => intersectSpans(visible, visibleSpans(mask, row, all)),
        [all],
      );
    },
    ...(dense.length > 0 && { dense }),
    check(call) {
      for (const mask of masks) mask.check?.(call);
    },
  });
}
