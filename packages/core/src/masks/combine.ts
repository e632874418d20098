import { checkMask } from '../checks/check-mask';
import { ConfigError } from '../contract/errors';
import type { Mask } from '../contract/mask';

interface Combination {
  readonly kind: string;
  readonly masks: readonly Mask[];
  readonly depth: number; // kinds alternate
}

const combinations = new WeakMap<Mask, Combination>();
const deepest = 100; // far from where a stack ends

/**
 * A mask of masks. Those of the same kind are read as one, so that a chain of them is not a tower.
 *
 * @param partsOf what the kind makes of all its masks, which are listed when they are first needed
 * @throws ConfigError for what is no mask, and for masks nested too deep
 */
export function combine(
  kind: 'allOf' | 'anyOf',
  masks: readonly Mask[],
  partsOf: (all: () => readonly Mask[]) => Pick<Mask, 'spans' | 'start' | 'dense'>,
): Mask {
  for (const mask of masks) if (!combinations.has(mask)) checkMask(kind, mask); // whose name is long
  const depth = masks.reduce((most, mask) => {
    const inner = combinations.get(mask);
    return Math.max(most, inner ? inner.depth + Number(inner.kind !== kind) : 1);
  }, 1);
  if (depth > deepest) throw new ConfigError(kind, `masks may be nested ${deepest} deep`, { depth });
  let flat: readonly Mask[] | undefined;
  const all = () => {
    flat ??= flatten(kind, masks);
    return flat;
  };
  const combined: Mask = {
    get name() {
      return `${kind}(${all()
        .map((mask) => mask.name)
        .join(', ')})`;
    },
    perBatch: masks.some((mask) => mask.perBatch),
    perHead: masks.some((mask) => mask.perHead),
    ...partsOf(all),
    check(call) {
      for (const mask of all()) mask.check?.(call);
    },
    toJSON() {
      const silent = all().find((mask) => !mask.toJSON);
      if (!silent) return { kind, masks: all() };
      throw new ConfigError(kind, 'a mask without toJSON cannot be written as JSON', { mask: silent.name });
    },
  };
  combinations.set(combined, { kind, masks, depth });
  return combined;
}

function flatten(kind: string, masks: readonly Mask[]): readonly Mask[] {
  const flat: Mask[] = [];
  const waiting = [...masks].reverse();
  for (let mask = waiting.pop(); mask; mask = waiting.pop()) {
    const inner = combinations.get(mask);
    if (inner?.kind !== kind) flat.push(mask);
    else for (const part of [...inner.masks].reverse()) waiting.push(part);
  }
  return flat;
}
