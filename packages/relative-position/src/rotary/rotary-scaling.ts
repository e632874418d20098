// What options there are for lengths that a model with rotary positions was not trained on, and what they must be. The
// formulas are in `frequencies.ts`.
import { ConfigError } from '@polyhead/core';
import { checkNumber, normalizeOptions } from '@polyhead/core/layer';
import { checkFlags } from '../check-options';

/** Position interpolation (Chen et al. 2023, 2306.15595): positions are divided by a factor. */
export interface LinearScaling {
  /** Which scaling it is. */
  readonly type: 'linear';
  /** How many times longer sequences become: above 0. */
  readonly factor: number;
}

/**
 * A larger base: slow pairs turn slower by the factor, the fastest pair as before ("NTK-aware", bloc97 2023; Peng et al.
 * 2023, 2309.00071, section 3.1).
 */
export interface NtkScaling {
  /** Which scaling it is. */
  readonly type: 'ntk';
  /** How many times longer sequences become: above 0. */
  readonly factor: number;
}

/**
 * The larger base of `ntk`, with a factor that grows with the length once it exceeds what the model was trained on (Peng et
 * al. 2023, 2309.00071, section 3.3).
 */
export interface DynamicScaling {
  /** Which scaling it is. */
  readonly type: 'dynamic';
  /** At `originalLength` the factor of `ntk` is 1, and grows by this much for each further `originalLength`: above 0. */
  readonly factor: number;
  /** The length that the model was trained on, in tokens. */
  readonly originalLength: number;
}

/**
 * YaRN (Peng et al. 2023, 2309.00071): pairs that turn often within the original length keep their frequency, those that
 * turn less than once are interpolated, and between lies a ramp. Scores are sharpened by the square of a factor.
 */
export interface YarnScaling {
  /** Which scaling it is. */
  readonly type: 'yarn';
  /** How many times longer sequences become: above 0. */
  readonly factor: number;
  /** The length that the model was trained on, in tokens. */
  readonly originalLength: number;
  /** Turns from which on a pair keeps its frequency. Default: 32. */
  readonly betaFast?: number | undefined;
  /** Turns up to which a pair is interpolated. Default: 1. */
  readonly betaSlow?: number | undefined;
  /** Whether the ends of the ramp are whole pairs. Default: true. */
  readonly truncate?: boolean | undefined;
  /** What cos and sin are multiplied by. Default: 0.1 ln(factor) + 1, or the ratio of the two below. */
  readonly attentionFactor?: number | undefined;
  /** DeepSeek's pair, given together: (0.1 mscale ln(factor) + 1) / (0.1 mscaleAllDim ln(factor) + 1). */
  readonly mscale?: number | undefined;
  /** See `mscale`. */
  readonly mscaleAllDim?: number | undefined;
}

/** LongRoPE (Ding et al. 2024, 2402.13753): a divisor found by search for each pair, other ones past the original length. */
export interface LongRopeScaling {
  /** Which scaling it is. */
  readonly type: 'longrope';
  /** How many times longer than `originalLength` the model was made. */
  readonly factor: number;
  /** The length that the model was trained on, in tokens: above 1. */
  readonly originalLength: number;
  /** A divisor for each pair, up to the original length. */
  readonly shortFactors: readonly number[];
  /** A divisor for each pair, past the original length. */
  readonly longFactors: readonly number[];
  /** What cos and sin are multiplied by. Default: sqrt(1 + ln(factor) / ln(originalLength)), 1 for a factor up to 1. */
  readonly attentionFactor?: number | undefined;
}

/**
 * Llama 3.1 (Grattafiori et al. 2024, 2407.21783): pairs with short wavelengths keep their frequency, those with long ones
 * are interpolated, and between lies a ramp.
 */
export interface Llama3Scaling {
  /** Which scaling it is. */
  readonly type: 'llama3';
  /** What the frequencies of long wavelengths are divided by. */
  readonly factor: number;
  /** The length that the model was trained on, in tokens. */
  readonly originalLength: number;
  /** Wavelengths above originalLength / lowFrequencyFactor are interpolated. */
  readonly lowFrequencyFactor: number;
  /** Wavelengths below originalLength / highFrequencyFactor are kept. */
  readonly highFrequencyFactor: number;
}

/** How a model with rotary positions serves lengths that it was not trained on. */
export type RotaryScaling =
  | LinearScaling
  | NtkScaling
  | DynamicScaling
  | YarnScaling
  | LongRopeScaling
  | Llama3Scaling;

const required: { readonly [type in RotaryScaling['type']]: readonly string[] } = {
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
 * @param pairs rotaryDim / 2, how many divisors `longrope` needs
 * @returns the options without those that are undefined or null
 * @throws ConfigError, naming the option
 */
export function checkScaling(where: string, scaling: RotaryScaling, pairs: number): RotaryScaling {
  const type = typeOf(where, scaling);
  const names = required[type];
  const known = ['type', ...names, ...(optional[type] ?? [])] as 'type'[];
  const options = normalizeOptions(`${where}: scaling "${type}"`, 'scaling', scaling, known) as RotaryScaling;
  const missing = names.filter((name) => !(name in options));
  if (missing.length > 0) throw new ConfigError(where, `scaling "${type}" needs more options`, { missing });
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    if (name === 'type') continue;
    if (name === 'truncate') checkFlags(where, { 'scaling.truncate': value });
    else if (lists.includes(name)) checkDivisors(where, name, value, pairs);
    else checkNumber(where, `scaling.${name}`, value as number, [(x) => x > 0, 'a number above 0']);
  }
  checkTogether(where, options);
  return options;
}

function typeOf(where: string, scaling: RotaryScaling): RotaryScaling['type'] {
  if (typeof scaling !== 'object' || Array.isArray(scaling)) {
    throw new ConfigError(where, "scaling must be an object, such as { type: 'linear', factor: 2 }", {
      scaling,
    });
  }
  const { type } = scaling;
  if (typeof type === 'string' && Object.hasOwn(required, type)) return type;
  const types = Object.keys(required).join(', ');
  if (type !== undefined && type !== null) {
    throw new ConfigError(where, `scaling.type must be one of ${types}`, { type });
  }
  const came = Object.keys(scaling);
  const renamed = came.includes('rope_type') ? ', which other libraries call rope_type' : '';
  throw new ConfigError(where, `scaling must have a type${renamed}: one of ${types}`, {
    'options that came': came,
  });
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
