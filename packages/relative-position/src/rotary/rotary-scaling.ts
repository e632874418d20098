// Ways to serve lengths that a model with rotary positions was not trained on: one formula a file, in `scaling`.
import { ConfigError } from '@polyhead/core';
import { checkNumber, normalizeOptions } from '@polyhead/core/layer';
import { checkFlags } from '../check-options';
import { type RotaryBase, type RotaryFrequencies, rotaryFrequencies } from './frequencies';
import { type DynamicScaling, dynamic } from './scaling/dynamic';
import { type LinearScaling, linear } from './scaling/linear';
import { type Llama3Scaling, llama3 } from './scaling/llama3';
import { type LongRopeScaling, longRope } from './scaling/longrope';
import { type NtkScaling, ntk } from './scaling/ntk';
import { type YarnScaling, yarn } from './scaling/yarn';

export type RotaryScaling =
  | LinearScaling
  | NtkScaling
  | DynamicScaling
  | YarnScaling
  | LongRopeScaling
  | Llama3Scaling;

/**
 * The frequencies of a call.
 *
 * @param length one past the largest position; `dynamic` and `longrope` depend on it
 */
export function scaledFrequencies(
  base: RotaryBase,
  scaling: RotaryScaling | undefined,
  length: number,
): RotaryFrequencies {
  switch (scaling?.type) {
    case undefined:
      return { perPosition: rotaryFrequencies(base), factor: 1 };
    case 'linear':
      return linear(base, scaling);
    case 'ntk':
      return ntk(base, scaling);
    case 'dynamic':
      return dynamic(base, scaling, length);
    case 'yarn':
      return yarn(base, scaling);
    case 'longrope':
      return longRope(base, scaling, length);
    case 'llama3':
      return llama3(base, scaling);
  }
}

const needed: { readonly [type in RotaryScaling['type']]: readonly string[] } = {
  linear: ['factor'],
  ntk: ['factor'],
  dynamic: ['factor', 'originalLength'],
  yarn: ['factor', 'originalLength'],
  longrope: ['factor', 'originalLength', 'shortFactors', 'longFactors'],
  llama3: ['factor', 'originalLength', 'lowFrequencyFactor', 'highFrequencyFactor'],
};

const optional: { readonly [type: string]: readonly string[] } = {
  yarn: ['betaFast', 'betaSlow', 'truncate', 'attentionFactor', 'mscale', 'mscaleAllDim'],
  longrope: ['attentionFactor'],
};

const lists: readonly string[] = ['shortFactors', 'longFactors'];

/**
 * @returns the options that were really given
 * @throws ConfigError, naming the option
 */
export function checkScaling(
  where: string,
  scaling: RotaryScaling,
  { rotaryDim }: RotaryBase,
): RotaryScaling {
  const { type } = scaling;
  if (typeof type !== 'string' || !Object.hasOwn(needed, type)) {
    throw new ConfigError(where, `scaling.type may be ${Object.keys(needed).join(', ')}`, { type });
  }
  const names = needed[type];
  const known = ['type', ...names, ...(optional[type] ?? [])] as 'type'[];
  const found = normalizeOptions(`${where}: scaling "${type}"`, 'scaling', scaling, known) as RotaryScaling;
  const missing = names.filter((name) => !(name in found));
  if (missing.length > 0) throw new ConfigError(where, `scaling "${type}" needs more options`, { missing });
  for (const [name, value] of Object.entries(found) as [string, unknown][]) {
    if (name === 'type') continue;
    if (name === 'truncate') checkFlags(where, { 'scaling.truncate': value });
    else if (lists.includes(name)) checkDivisors(where, name, value, rotaryDim / 2);
    else checkNumber(where, `scaling.${name}`, value as number, [(x) => x > 0, 'a number above 0']);
  }
  checkTogether(where, found);
  return found;
}

function checkDivisors(where: string, name: string, value: unknown, pairs: number): void {
  const isDivisor = (x: unknown) => typeof x === 'number' && Number.isFinite(x) && x > 0;
  if (Array.isArray(value) && value.length === pairs && value.every(isDivisor)) return;
  throw new ConfigError(where, `scaling.${name} must have a number above 0 for each pair`, {
    [name]: value,
    pairs,
  });
}

/** What options of a type need of one another. */
function checkTogether(where: string, scaling: RotaryScaling): void {
  if (scaling.type === 'llama3' && scaling.highFrequencyFactor <= scaling.lowFrequencyFactor) {
    throw new ConfigError(where, 'scaling.highFrequencyFactor must be above lowFrequencyFactor', {
      ...scaling,
    });
  }
  if (scaling.type === 'longrope') {
    const above1 = [(x: number) => x > 1, 'a number above 1'] as const; // its logarithm is divided by
    checkNumber(where, 'scaling.originalLength', scaling.originalLength, above1);
  }
  if (scaling.type !== 'yarn') return;
  const { mscale, mscaleAllDim } = scaling;
  if ((mscale === undefined) === (mscaleAllDim === undefined)) return;
  throw new ConfigError(where, 'scaling.mscale and scaling.mscaleAllDim must be given together', {
    mscale,
    mscaleAllDim,
  });
}
