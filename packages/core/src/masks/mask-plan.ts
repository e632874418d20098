// What kernels read of a mask: spans of visible key columns for each query row.
import type { MaskPlan, Span } from '../contract/mask';

/** A plan of these spans: adds `visibleKeys`, which reads them. */
export function planOfSpans(parts: Omit<MaskPlan, 'visibleKeys'>): MaskPlan {
  return { ...parts, visibleKeys: (part) => visibleKeys(parts, part) };
}

/**
 * Visits the rows of a plan that a part of a call has, in order.
 *
 * @param visit gets the index of the row's first span, and how many rows came before
 */
export function eachRowOfPlan(
  { shape: [B, H, R, width] }: Pick<MaskPlan, 'shape'>,
  { batch, rows }: { readonly batch: Span; readonly rows: Span },
  visit: (firstSpan: number, n: number) => void,
): void {
  const [b0, b1] = B === 1 ? [0, 1] : batch;
  for (let b = b0, n = 0; b < b1; b++) {
    for (let h = 0; h < H; h++) {
      for (let row = rows[0]; row < rows[1]; row++, n++) visit(((b * H + h) * R + row) * width, n);
    }
  }
}

function visibleKeys(
  { shape, spans }: Pick<MaskPlan, 'shape' | 'spans'>,
  part: { readonly batch: Span; readonly rows: Span },
): Span {
  let first = Infinity;
  let last = 0;
  eachRowOfPlan({ shape }, part, (span) => {
    for (let i = span * 2; i < (span + shape[3]) * 2 && spans[i]! < spans[i + 1]!; i += 2) {
      first = Math.min(first, spans[i]!);
      last = Math.max(last, spans[i + 1]!);
    }
  });
  return first < last ? [first, last] : [0, 0];
}
