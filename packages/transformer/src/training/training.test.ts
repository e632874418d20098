// Each training function against loops over doubles.
import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import { isAttentionError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import {
  adamW,
  clipGradients,
  crossEntropy,
  decayMatrices,
  gradientsOf,
  ignored,
  nextTokens,
  warmupCosine,
} from '../training';

const [B, S, V] = [2, 5, 7];
const ids = [
  [3, 1, 6, 0, 2],
  [5, 5, 4, 3, 1],
];
const noise = (shape: number[], seed: number) => tf.randomNormal(shape, 0, 2, 'float32', seed);
const named = (name: string, create: () => tf.Tensor) => ({
  name,
  variable: tf.tidy(() => tf.variable(create())),
});
const dataOf = async (tensor: tf.Tensor) => Array.from(await tensor.data());
const expectAll = (actual: readonly number[], expected: readonly number[], digits = 5) => {
  expect(actual).toEqual(expected.map((x) => expect.closeTo(x, digits)));
};

/** Mean loss and its gradient, in doubles. */
function lossOf(logits: readonly number[], targets: readonly number[]) {
  const counted = targets.filter((target) => target !== ignored).length;
  const gradient = logits.map(() => 0);
  let loss = 0;
  targets.forEach((target, row) => {
    if (target === ignored) return;
    const own = logits.slice(row * V, (row + 1) * V);
    const sum = own.reduce((total, logit) => total + Math.exp(logit), 0);
    loss += (Math.log(sum) - own[target]!) / counted;
    own.forEach((logit, token) => {
      gradient[row * V + token] = (Math.exp(logit) / sum - (token === target ? 1 : 0)) / counted;
    });
  });
  return { loss, gradient };
}

describe('crossEntropy', () => {
  it.each([
    ['all positions', ids],
    ['shifted tokens', nextTokens(ids)],
    ['answers alone', nextTokens(ids, { from: [2, 4], lengths: [4, 5] })],
  ])('of %s, and its gradient', async (_, targets) => {
    const logits = noise([B, S, V], 1);
    const { loss, gradient } = lossOf(await dataOf(logits), targets.flat());
    expectAll(await dataOf(crossEntropy(logits, targets)), [loss]);
    const slopes = tf.grad((x) => tf.mul(crossEntropy(x, targets), 3))(logits);
    expectAll(
      await dataOf(slopes),
      gradient.map((slope) => 3 * slope),
    );
  });

  it('is not moved by positions that do not count, not by NaN either, nor by large logits', async () => {
    const host = await dataOf(noise([B, S, V], 2));
    const targets = nextTokens(ids);
    const { loss, gradient } = lossOf(host, targets.flat());
    const spoiled = host.map((x, n) =>
      targets.flat()[Math.floor(n / V)] === ignored ? Number.NaN : x + 1000,
    );
    const logits = tf.tensor3d(spoiled, [B, S, V]);
    expectAll(await dataOf(crossEntropy(logits, targets)), [loss], 3); // float32 of 1000
    expectAll(await dataOf(tf.grad((x) => crossEntropy(x, targets))(logits)), gradient, 4);
  });

  it('leaves its result alone in memory', () => {
    const logits = noise([B, S, V], 3);
    const before = memoryNow();
    crossEntropy(logits, nextTokens(ids)).dispose();
    tf.grad((x) => crossEntropy(x, nextTokens(ids)))(logits).dispose();
    expectSameMemory(before);
  });

  it.each<[readonly (readonly number[])[], RegExp]>([
    [[[1, 2, 3, 4, 5]], /targets must have a token for each position/],
    [
      [
        [0, 0, 0, 0, 7],
        [0, 0, 0, 0, 0],
      ],
      /targets must be tokens/,
    ],
    [ids.map((row) => row.map(() => ignored)), /at least one position must count/],
  ])('refuses %j', (targets, message) => {
    const attempt = () => crossEntropy(noise([B, S, V], 1), targets);
    expect(attempt).toThrow(message);
    expect(attempt).toThrow(expect.toSatisfy(isAttentionError));
  });

  it('learns the token after each, from the first that counts to the last', () => {
    const none = ignored;
    expect(nextTokens(ids)).toEqual([
      [1, 6, 0, 2, none],
      [5, 4, 3, 1, none],
    ]);
    expect(nextTokens(ids, { from: [2, 4], lengths: [4, 5] })).toEqual([
      [none, 6, 0, none, none],
      [none, none, none, 1, none],
    ]);
  });
});

describe('gradients', () => {
  it('come by whole names, of what is trainable and counts', async () => {
    const [a, b, c] = [
      named('x/a', () => tf.tensor1d([1, 2])),
      named('x/b', () => tf.tensor1d([3, 4])),
      named('x/c', () => tf.scalar(5)),
    ];
    c.variable.trainable = false;
    const variables = [a, b, c];
    const { loss, gradients } = gradientsOf(
      () => tf.sum(tf.mul(tf.square(a.variable), c.variable)) as tf.Scalar,
      variables,
    );
    expect(Object.keys(gradients)).toEqual(['x/a']);
    expectAll(await dataOf(gradients['x/a']!), [10, 20]);
    expectAll(await dataOf(loss), [25]);
    for (const { variable } of variables) variable.trainable = false;
    expect(() => gradientsOf(() => tf.sum(a.variable) as tf.Scalar, variables)).toThrow(
      /at least one variable/,
    );
    for (const { variable } of variables) variable.dispose();
  });

  it.each([0.5, 100])('are clipped to a norm of all together of %s', async (maxNorm) => {
    const unclipped = { a: noise([3, 4], 4), b: noise([5], 5) };
    const host = [...(await dataOf(unclipped.a)), ...(await dataOf(unclipped.b))];
    const norm = Math.sqrt(host.reduce((sum, x) => sum + x * x, 0));
    const { gradients, norm: before } = clipGradients(unclipped, maxNorm);
    expectAll(await dataOf(before), [norm], 4);
    const clipped = [...(await dataOf(gradients.a!)), ...(await dataOf(gradients.b!))];
    expectAll(
      clipped,
      host.map((x) => x * Math.min(1, maxNorm / norm)),
    );
  });
});

describe('adamW', () => {
  const rates = [0.1, 0.03, 0.2, 0.01];
  const options = { beta1: 0.8, beta2: 0.95, epsilon: 1e-6, weightDecay: decayMatrices(0.3) };
  const create = () => [
    named('layer/kernel', () => noise([2, 3], 6)),
    named('layer/bias', () => noise([3], 7)),
  ];
  const gradientsAt = (step: number) => ({
    'layer/kernel': noise([2, 3], 10 + step),
    'layer/bias': noise([3], 20 + step),
  });

  it('is the formula of Loshchilov and Hutter, decay for matrices alone', async () => {
    const variables = create();
    const host = await Promise.all(
      variables.map(async ({ name, variable }) => ({ name, x: await dataOf(variable), m: [0], v: [0] })),
    );
    for (const own of host) [own.m, own.v] = [own.x.map(() => 0), own.x.map(() => 0)];
    const optimizer = adamW(variables, options);
    for (const [n, rate] of rates.entries()) {
      const gradients = gradientsAt(n);
      optimizer.update(gradients, rate);
      for (const { name, x, m, v } of host) {
        const g = await dataOf(gradients[name as 'layer/bias']);
        x.forEach((old, i) => {
          m[i] = 0.8 * m[i]! + 0.2 * g[i]!;
          v[i] = 0.95 * v[i]! + 0.05 * g[i]! ** 2;
          const [mean, square] = [m[i]! / (1 - 0.8 ** (n + 1)), v[i]! / (1 - 0.95 ** (n + 1))];
          const decay = name === 'layer/kernel' ? 0.3 : 0;
          x[i] = old - rate * (mean / (Math.sqrt(square) + 1e-6) + decay * old);
        });
      }
    }
    expectAll(await dataOf(optimizer.variables[0]!.variable), [rates.length]);
    for (const [n, { x }] of host.entries()) expectAll(await dataOf(variables[n]!.variable), x, 4);
    optimizer.dispose();
    for (const { variable } of variables) variable.dispose();
  });

  it('goes on from its saved state as if it had not stopped, to the bit', async () => {
    const [one, other] = [create(), create()];
    const straight = adamW(one, options);
    const first = adamW(other, options);
    for (const n of [0, 1]) {
      straight.update(gradientsAt(n), rates[n]!);
      first.update(gradientsAt(n), rates[n]!);
    }
    const saved = await Promise.all(first.variables.map(({ variable }) => dataOf(variable)));
    first.dispose();
    const second = adamW(other, options);
    for (const [n, { variable }] of second.variables.entries())
      tf.tidy(() => variable.assign(tf.tensor(saved[n]!, variable.shape)));
    for (const n of [2, 3]) {
      straight.update(gradientsAt(n), rates[n]!);
      second.update(gradientsAt(n), rates[n]!);
    }
    expect(second.variables.map(({ name }) => name)).toEqual([
      'adamW/step',
      ...['adamW/moment1/layer/kernel', 'adamW/moment2/layer/kernel'],
      ...['adamW/moment1/layer/bias', 'adamW/moment2/layer/bias'],
    ]);
    for (const [n, { variable }] of one.entries())
      expect(await dataOf(other[n]!.variable)).toEqual(await dataOf(variable));
    for (const optimizer of [straight, second]) optimizer.dispose();
    for (const { variable } of [...one, ...other]) variable.dispose();
  });

  it('changes nothing where it refuses, and leaves no tensor', async () => {
    const before = memoryNow();
    const variables = create();
    const optimizer = adamW(variables, options);
    const gradients = gradientsAt(0);
    const attempts = [
      () => optimizer.update({ nobody: gradients['layer/bias'] }, 0.1),
      () => optimizer.update({ 'layer/kernel': gradients['layer/bias'] }, 0.1),
      () => optimizer.update(gradients, -1),
      () => adamW(variables, { beta1: 1 }),
      () => adamW(variables, { weightDecay: -1 }),
    ];
    for (const attempt of attempts) expect(attempt).toThrow(expect.toSatisfy(isAttentionError));
    expectAll(await dataOf(optimizer.variables[0]!.variable), [0]);
    optimizer.update(gradients, 0.1);
    tf.dispose(gradients);
    optimizer.dispose();
    for (const { variable } of variables) variable.dispose();
    expectSameMemory(before);
  });
});

describe('warmupCosine', () => {
  it('rises in a line, falls as half a cosine, and stays', () => {
    const rate = warmupCosine({ peak: 8, warmupSteps: 4, steps: 12, end: 2 });
    expectAll([1, 2, 4, 6, 8, 12, 20].map(rate), [2, 4, 8, 2 + 3 * (1 + Math.SQRT1_2), 5, 2, 2], 12);
    expect(warmupCosine({ peak: 1, warmupSteps: 0, steps: 2 })(1)).toBeCloseTo(0.5, 12);
  });

  it.each([{ warmupSteps: 4 }, { warmupSteps: -1 }, { steps: 0 }, { end: 2 }, { end: -1 }])(
    'refuses %j',
    (wrong) => {
      expect(() => warmupCosine({ peak: 1, warmupSteps: 1, steps: 4, ...wrong })).toThrow(/warmupCosine/);
    },
  );
});
