import { normalizeOptions } from '../checks/normalize-options';
import { ConfigError } from '../contract/errors';
import { withKind } from '../contract/json';
import type { Mask } from '../contract/mask';

/**
 * A query sees `left` keys before its own place, itself, and `right` after, both ends included. A causal window of
 * width w is `{ left: w - 1, right: 0 }`. A side left out has no bound. Beltagy et al. 2020 (2004.05150).
 *
 * @param sides neighbours; default of each: Infinity
 * @throws ConfigError for a side that is not a whole number of at least 0, or Infinity
 */
export const slidingWindow = /* @__PURE__ */ withKind(
  'slidingWindow',
  ['sides'],
  (sides: { readonly left?: number | undefined; readonly right?: number | undefined }): Mask => {
    const { left = Infinity, right = Infinity } = normalizeOptions('slidingWindow', 'sides', sides, [
      'left',
      'right',
    ]);
    checkSide('left', left);
    checkSide('right', right);
    const bounded = Object.entries({ left, right }).filter(([, side]) => side < Infinity); // JSON knows no Infinity
    return {
      name: `slidingWindow(${left}, ${right})`,
      perBatch: false,
      perHead: false,
      spans: ({ query }) => [[query - left, query + right + 1]],
      toJSON: () => ({ kind: 'slidingWindow', sides: Object.fromEntries(bounded) }),
    };
  },
);

function checkSide(name: string, side: number): void {
  if (side === Infinity || (Number.isInteger(side) && side >= 0)) return;
  throw new ConfigError('slidingWindow', `${name} must be a whole number of at least 0, or Infinity`, {
    [name]: side,
  });
}
