// The suite, tried on kernels that are known to be wrong: each fault is noticed by the check that is there for it.
import {
  type AttentionKernel,
  composed,
  type KernelCall,
  type KernelResult,
  type MaskPlan,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Check } from './check';
import { kernelChecks } from './describe-kernel';
import { decays, retention, retentionOracle } from './examples/retention-kernel';
import { tabulate } from './inputs';
import type { KernelUnderTest } from './kernel-checks/suite';
import { toTensor } from './kernel-run';

beforeEach(({ skip }) => skip(tf.getBackend() !== 'wasm', 'the suite notices the same on every backend'));

function changed(change: Partial<AttentionKernel>): AttentionKernel {
  return { ...composed(), name: 'wrong', ...change };
}

/** `composed`, with another call than it should have. */
const withCall = (change: (call: KernelCall) => KernelCall) =>
  changed({ run: (call) => composed().run(change(call)) });

/** `composed`, with another result than it should have. */
const withResult = (change: (result: KernelResult, call: KernelCall) => KernelResult) =>
  changed({ run: (call) => change(composed().run(call), call) });

const without = (option: keyof KernelCall) => withCall((call) => withoutOption(call, option));

/** The tensor, whose gradient is another than it should be. */
function withGradient<T extends tf.Tensor>(x: T, change: (gradient: tf.Tensor) => tf.Tensor): T {
  const wrong = tf.customGrad((input) => ({ value: tf.clone(input as T), gradFunc: change }));
  return wrong(x);
}

/** `composed`, whose gradient for one argument is another than it should be. */
const withGradientOf = (
  argument: 'query' | 'key' | 'value' | 'bias' | 'sinkLogits',
  change: (gradient: tf.Tensor) => tf.Tensor,
) =>
  withCall((call) => {
    const tensors = { ...tensorsOf(call), bias: call.bias, sinkLogits: call.sinkLogits };
    const x = tensors[argument];
    if (!x) return call;
    const wrong = { [argument]: withGradient(x, change) };
    return argument === 'bias' || argument === 'sinkLogits'
      ? { ...call, ...wrong }
      : { ...call, inputs: { ...tensorsOf(call), ...wrong } };
  });

/** The tensor with the entries [from, to), in row-major order, scaled. */
const scaledAt = (factor: number, from: number, to: number) => (x: tf.Tensor) => {
  const isScaled = (at: readonly number[]) => flatIndex(at, x.shape) >= from && flatIndex(at, x.shape) < to;
  return tf.mul(x, toTensor(tabulate(x.shape, (...at) => (isScaled(at) ? factor : 1))));
};

function flatIndex(at: readonly number[], shape: readonly number[]): number {
  return shape.reduce((flat, size, axis) => flat * size + at[axis]!, 0);
}

const detached = (x: tf.Tensor4D) => tf.tensor4d(x.dataSync() as Float32Array, x.shape);

function checksNamed(
  kernel: AttentionKernel,
  sentence: RegExp,
  refuses: KernelUnderTest['refuses'] = {},
): readonly Check[] {
  const checks = kernelChecks({ create: () => kernel, refuses }).filter(({ name }) => sentence.test(name));
  expect(checks.length).toBeGreaterThan(0);
  return checks;
}

/** True where at least one of the checks of this name throws. */
async function isNoticed(kernel: AttentionKernel, sentence: RegExp): Promise<boolean> {
  for (const { run } of checksNamed(kernel, sentence)) {
    try {
      await run();
    } catch {
      return true;
    }
  }
  return false;
}

describe('the suite notices a kernel that', () => {
  const smallest = /^equals the oracle: B2 Hq2 Hkv1/;
  const faults: readonly (readonly [fault: string, kernel: AttentionKernel, check: RegExp])[] = [
    ...(['bias', 'softcap', 'sinkLogits', 'dropout'] as const).map(
      (option) => [`drops ${option}`, without(option), new RegExp(`^does not drop ${option}$`)] as const,
    ),
    ['returns nothing but the output', without('returns'), /^does not drop (weights|logSumExp)$/],
    ['reads scale 0 as no scale', withCall((call) => ({ ...call, scale: call.scale || 1 })), /scale 0/],
    [
      'sees every pair',
      withCall((call) => ({ ...call, plan: seeingAll(call) })),
      /^never lets a future key matter/,
    ],
    ['is off by a hundred thousandth', withResult((result) => scaled(result, 1.00001)), smallest],
    [
      'loses the gradient of keys',
      withCall((call) => ({ ...call, inputs: { ...tensorsOf(call), key: detached(tensorsOf(call).key) } })),
      /^gradients agree with derivatives of the oracle: B2 Hq2 Hkv1/,
    ],
    [
      'gives the mean of the values for a fully masked row',
      withResult((result, call) => ({
        ...result,
        output: tf.add(result.output, tf.mean(tensorsOf(call).value)),
      })),
      /^gives exact zeros/,
    ],
    [
      'multiplies hidden values by 0',
      withResult((result, call) => ({
        ...result,
        output: tf.add(result.output, tf.mul(tf.sum(tensorsOf(call).value), 0)),
      })),
      /^never lets NaN/,
    ],
    [
      'mixes batch entries',
      withResult((result) => ({
        ...result,
        output: tf.add(result.output, tf.mul(tf.sum(result.output), 1e-6)),
      })),
      /^keeps batch entries apart$/,
    ],
    ['sees the first key only', withCall((call) => ({ ...call, plan: seeingFirst(call) })), /another order$/],
    ['drops relative tables', without('relative'), /relative tables/],
    [
      'keeps a tensor',
      withResult((result) => {
        tf.keep(tf.zeros([1]));
        return result;
      }),
      /^leaves its inputs alone/,
    ],
    [
      'disposes its inputs',
      withResult((result, call) => {
        tensorsOf(call).query.dispose();
        return result;
      }),
      /^leaves its inputs alone/,
    ],
  ];

  it.each(faults)('%s', async (_, kernel, check) => {
    expect(await isNoticed(kernel, check)).toBe(true);
    expect(await isNoticed(composed(), check)).toBe(false);
  });
});

describe('the suite notices a gradient that', () => {
  const derivatives = /^gradients agree with derivatives of the oracle/;
  const faults: readonly (readonly [fault: string, kernel: AttentionKernel])[] = [
    ['is off by 1 % in one row of keys', withGradientOf('key', scaledAt(1.01, 0, 3))],
    ['is off by 1 % in one number of a query', withGradientOf('query', scaledAt(1.01, 0, 1))],
    ['is missing for one value', withGradientOf('value', scaledAt(0, 0, 3))],
    ['is in another order of keys', withGradientOf('key', (x) => tf.reverse(x, 2))],
    ['is in another order of heads', withGradientOf('value', (x) => tf.reverse(x, 1))],
    ['is off by 1 % in one number of a bias', withGradientOf('bias', scaledAt(1.01, 1, 2))],
    ['is halved for one sink', withGradientOf('sinkLogits', scaledAt(0.5, 0, 1))],
    ['has the other sign', withGradientOf('query', tf.neg)],
    ['is a ten thousandth too large', withGradientOf('query', (x) => tf.mul(x, 1.0001))],
  ];

  it.each(faults)('%s', async (_, kernel) => {
    expect(await isNoticed(kernel, derivatives)).toBe(true);
  });

  it.each(faults)('%s, entry by entry', async (_, kernel) => {
    expect(await isNoticed(kernel, /^gradients agree with central differences, entry by entry/)).toBe(true);
  });
});

describe('the suite notices a kernel with a state that', () => {
  const faults: readonly (readonly [fault: string, run: AttentionKernel['run'], check: RegExp])[] = [
    [
      'drops a tensor of its own',
      (call) => retention().run({ ...call, tensors: { decay: tf.onesLike(call.tensors!.decay!) } }),
      /^does not drop its tensor decay$/,
    ],
    [
      'begins anew',
      (call) => retention().run({ ...call, inputs: { ...tensorsOf(call), state: undefined } }),
      /^goes on from its state/,
    ],
    [
      'lets its state decay once too often',
      (call) => {
        const { state } = tensorsOf(call);
        const halved = state && { sum: tf.div(state.sum!, 2) };
        return retention().run({ ...call, inputs: { ...tensorsOf(call), state: halved } });
      },
      /^goes on from its state/,
    ],
    [
      'loses the gradient behind a state',
      (call) => {
        const { state, value } = tensorsOf(call);
        const inputs = state ? { ...tensorsOf(call), value: detached(value) } : call.inputs;
        return retention().run({ ...call, inputs });
      },
      /^goes on from its state/,
    ],
  ];

  it.each(faults)('%s', async (_, run, sentence) => {
    const [check, ...others] = retentionChecks({ ...retention(), run }).filter(({ name }) =>
      sentence.test(name),
    );
    expect(others).toEqual([]);
    await expect((async () => check!.run())()).rejects.toThrow();
  });

  it('takes one that is right', async () => {
    const named = retentionChecks(retention()).filter(({ name }) =>
      /^(does not drop its|goes on)/.test(name),
    );
    expect(named.length).toBe(2);
    for (const { run } of named) await run();
  });
});

const retentionChecks = (kernel: AttentionKernel) =>
  kernelChecks({ create: () => kernel, oracle: retentionOracle, tensors: decays });

describe('an option refused by design', () => {
  const kernel = changed({
    unsupported: (call) => [...composed().unsupported(call), ...(call.dropout ? ['no dropout here'] : [])],
  });

  it('is left out of all cases and must be refused with a reason', async () => {
    const checks = checksNamed(kernel, /dropout/, { dropout: 'no dropout here' });
    expect(checks.map(({ name }) => name)).toEqual(['refuses dropout with a reason']);
    for (const { run } of checks) await run();
  });

  it('is missed where the suite is not told', async () => {
    expect(await isNoticed(kernel, /^does not drop dropout$/)).toBe(true);
  });

  it('is noticed when it starts to work', async () => {
    const [check] = checksNamed(composed(), /^refuses dropout/, { dropout: 'no dropout here' });
    await expect(check!.run()).rejects.toThrow('nothing was thrown');
  });
});

function withoutOption(call: KernelCall, option: keyof KernelCall): KernelCall {
  return Object.fromEntries(
    Object.entries(call).filter(([name]) => name !== option),
  ) as unknown as KernelCall;
}

function tensorsOf({ inputs }: KernelCall) {
  return inputs as Exclude<KernelCall['inputs'], { stored: object }>;
}

function scaled(result: KernelResult, factor: number): KernelResult {
  return { ...result, output: tf.mul(result.output, factor) };
}

/** A plan that hides nothing. */
function seeingAll(call: KernelCall): MaskPlan {
  const { query, key } = tensorsOf(call);
  const [Sq, Skv] = [query.shape[2], key.shape[2]];
  const spans = Int32Array.from({ length: Sq * 2 }, (_, n) => (n % 2) * Skv);
  return { ...call.plan, shape: [1, 1, Sq, 1], spans, full: true, dense: [] };
}

/** A plan of one key, whichever it is. */
function seeingFirst(call: KernelCall): MaskPlan {
  const plan = seeingAll(call);
  return { ...plan, full: false, spans: plan.spans.map((column) => Math.min(column, 1)) };
}
