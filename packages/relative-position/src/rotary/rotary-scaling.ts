// Ways to serve lengths that a model with rotary positions was not trained on: one formula a file, in `scaling`.
import { ConfigError, checkKnownOptions, checkNumber } from '@polyhead/core';
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

/** @throws ConfigError, naming the option */
export function checkScaling(where: string, scaling: RotaryScaling, { rotaryDim }: RotaryBase): void {
  const { type, ...options } = scaling;
  const names = needed[type];
  if (!names) throw new ConfigError(where, `scaling.type may be ${Object.keys(needed).join(', ')}`, { type });
  checkKnownOptions(`${where}: scaling "${type}"`, options, [...names, ...(optional[type] ?? [])]);
  const missing = names.filter((name) => !(name in options));
  if (missing.length > 0) throw new ConfigError(where, `scaling "${type}" needs more options`, { missing });
  const positive = [(x: number) => x > 0, 'a number above 0'] as const;
  for (const [name, value] of Object.entries(options)) {
    if (name === 'truncate') continue;
    if (!Array.isArray(value)) checkNumber(where, `scaling.${name}`, value as number, positive);
    else if (value.length !== rotaryDim / 2 || !value.every((divisor) => divisor > 0)) {
      throw new ConfigError(where, `scaling.${name} must have a number above 0 for each pair`, {
        [name]: value,
        pairs: rotaryDim / 2,
      });
    }
  }
  if (scaling.type !== 'llama3' || scaling.highFrequencyFactor > scaling.lowFrequencyFactor) return;
  throw new ConfigError(where, 'scaling.highFrequencyFactor must be above lowFrequencyFactor', {
    ...options,
  });
}
