import { ConfigError } from '@polyhead/core';
import { describe, expect, it } from 'vitest';
import { rotaryFrequencies, scaledFrequencies } from './frequencies';
import { type RotaryConfig, rotary } from './rotary';

const base = { base: 10_000, rotaryDim: 128 };
const unscaled = rotaryFrequencies(base);

describe('rotary scaling', () => {
  it('of a larger base leaves the fastest pair, and slows the slowest by the factor', () => {
    const { perPosition } = scaledFrequencies(base, { type: 'ntk', factor: 4 }, 1);
    expect(perPosition[0]).toBe(1);
    expect(perPosition[63]! * 4).toBeCloseTo(unscaled[63]!, 12);
  });

  it('that is dynamic does nothing up to the original length, then what `ntk` does', () => {
    const scaling = { type: 'dynamic', factor: 2, originalLength: 16 } as const;
    expect(scaledFrequencies(base, scaling, 16).perPosition).toEqual(unscaled);
    // 2 · 24 / 16 - 1 = 2
    expect(scaledFrequencies(base, scaling, 24)).toEqual(
      scaledFrequencies(base, { type: 'ntk', factor: 2 }, 1),
    );
  });

  it('by YaRN has its ramp between the pairs 20 and 46 of Llama 2 at 16 times 4096', () => {
    const { perPosition, factor } = scaledFrequencies(
      base,
      { type: 'yarn', factor: 16, originalLength: 4096 },
      1,
    );
    expect(factor).toBeCloseTo(1.27726, 5);
    expect(perPosition[20]).toBe(unscaled[20]);
    expect(perPosition[21]).toBeLessThan(unscaled[21]!);
    expect(perPosition[45]).toBeGreaterThan(unscaled[45]! / 16);
    expect(perPosition[46]! * 16).toBeCloseTo(unscaled[46]!, 12);
  });

  it('by YaRN may have ends between pairs, and a factor that is given', () => {
    const yarn = { type: 'yarn', factor: 16, originalLength: 4096 } as const;
    const { perPosition, factor } = scaledFrequencies(
      base,
      { ...yarn, truncate: false, attentionFactor: 1 },
      1,
    );
    expect(factor).toBe(1);
    expect(perPosition[20]).toBe(unscaled[20]); // the ramp starts at 20.94
    expect(perPosition[21]).toBeGreaterThan(scaledFrequencies(base, yarn, 1).perPosition[21]!);
  });

  it('by LongRoPE has other divisors past the original length, and one factor', () => {
    const scaling = {
      type: 'longrope',
      factor: 32,
      originalLength: 4096,
      shortFactors: Array<number>(64).fill(1),
      longFactors: Array<number>(64).fill(2),
    } as const;
    const [short, long] = [4096, 4097].map((length) => scaledFrequencies(base, scaling, length));
    expect(short!.perPosition).toEqual(unscaled);
    expect(long!.perPosition).toEqual(unscaled.map((frequency) => frequency / 2));
    expect(short!.factor).toBeCloseTo(Math.sqrt(1 + Math.log(32) / Math.log(4096)), 12);
    expect(long!.factor).toBe(short!.factor);
  });

  it.each([
    [28, 3.211446e-3],
    [30, 1.371894e-3],
    [33, 3.126938e-4],
    [35, 9.556212e-5],
  ])('of Llama 3.1 turns pair %i by %f a position', (pair, frequency) => {
    const scaling = {
      type: 'llama3',
      factor: 8,
      originalLength: 8192,
      lowFrequencyFactor: 1,
      highFrequencyFactor: 4,
    } as const;
    const { perPosition } = scaledFrequencies({ base: 500_000, rotaryDim: 128 }, scaling, 1);
    expect(perPosition[pair]! / frequency).toBeCloseTo(1, 6);
  });
});

describe('a config of rotary scaling', () => {
  const yarn = { type: 'yarn', factor: 2, originalLength: 8 };
  const longrope = { ...yarn, type: 'longrope', shortFactors: [1, 1], longFactors: [2, 2] };
  const make = (scaling: unknown) => rotary({ headDim: 4, scaling } as RotaryConfig);

  it.each<[unknown, RegExp]>([
    [{ type: 'toString' }, /scaling.type must be one of linear, ntk, dynamic, yarn, longrope, llama3/],
    [{ ...yarn, type: ['yarn'] }, /scaling.type must be one of/],
    ['yarn', /scaling must be an object, such as/],
    [false, /scaling must be an object/],
    [[yarn], /scaling must be an object/],
    [{}, /scaling must have a type: one of linear, ntk/],
    [{ type: null, factor: 2 }, /scaling must have a type: one of[\s\S]*options that came +\[type, factor\]/],
    [
      { rope_type: 'yarn', factor: 2 },
      /must have a type, which other libraries call rope_type: one of[\s\S]*\[rope_type, factor\]/,
    ],
    [{ type: 'linear', factor: [2, 2] }, /scaling.factor must be a number above 0/],
    [{ type: 'linear', factor: '2' }, /scaling.factor must be a number above 0/],
    [{ type: 'linear', factor: undefined }, /missing +\[factor\]/],
    [{ ...yarn, truncate: 'no' }, /scaling.truncate must be true or false/],
    [{ ...yarn, mscale: 1 }, /must be given together/],
    [{ ...yarn, mscaleAllDim: 1 }, /must be given together/],
    [{ ...longrope, shortFactors: 2 }, /scaling.shortFactors must have a number above 0 for each pair/],
    [{ ...longrope, longFactors: [1, '2'] }, /scaling.longFactors must have a number/],
    [{ ...longrope, longFactors: [1, Infinity] }, /scaling.longFactors must have a number/],
    [{ ...longrope, originalLength: 1 }, /scaling.originalLength must be a number above 1/],
  ])('refuses %j', (scaling, message) => {
    let thrown: unknown;
    try {
      make(scaling);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(ConfigError);
    expect((thrown as Error).message).toMatch(message);
  });

  it('takes undefined options as absent, and mscale with mscaleAllDim', () => {
    expect(make({ ...yarn, betaFast: undefined, mscale: undefined }).config).toEqual({
      headDim: 4,
      scaling: yarn,
    });
    expect(() => make({ ...yarn, mscale: 1, mscaleAllDim: 0.5, truncate: false })).not.toThrow();
  });
});
