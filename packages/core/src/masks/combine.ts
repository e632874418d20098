import { checkMask } from '../checks/check-mask';
import { ConfigError } from '../contract/errors';
import type { Mask } from '../contract/mask';

interface Combination {
  readonly kind: string;
  readonly masks: readonly Mask[];
  readonly depth: number;
}

const combinations = new WeakMap<Mask, Combination>();
const deepest = 100; // far from where a stack ends

/**
 * A mask of masks. Those of the same kind become one, so that a chain of them is not a tower.
 *
 * @param partsOf what the kind makes of its masks
 * @throws ConfigError for what is no mask, and for masks nested too deep
 */
export function combine(
  kind: 'allOf' | 'anyOf',
  given: readonly Mask[],
  partsOf: (masks: readonly Mask[]) => Pick<Mask, 'spans' | 'start' | 'dense'>,
): Mask {
  for (const mask of given) checkMask(kind, mask);
  const masks = given.flatMap((mask) => {
    const inner = combinations.get(mask);
    return inner?.kind === kind ? inner.masks : [mask];
  });
  const depth = masks.reduce((most, mask) => Math.max(most, combinations.get(mask)?.depth ?? 0), 0) + 1;
  if (depth > deepest) throw new ConfigError(kind, `masks may be nested ${deepest} deep`, { depth });
  const combined: Mask = {
    get name() {
      return `${kind}(${masks.map((mask) => mask.name).join(', ')})`;
    },
    perBatch: masks.some((mask) => mask.perBatch),
    perHead: masks.some((mask) => mask.perHead),
    ...partsOf(masks),
    check(call) {
      for (const mask of masks) mask.check?.(call);
    },
    toJSON() {
      const silent = masks.find((mask) => !mask.toJSON);
      if (!silent) return { kind, masks };
      throw new ConfigError(kind, 'a mask without toJSON cannot be written as JSON', { mask: silent.name });
    },
  };
  combinations.set(combined, { kind, masks, depth });
  return combined;
}
