// What graphics cards are known to do wrong. Holds on every backend; numbers are waited for.
import { attend, composed, dense, isAttentionError, validLengths } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { attentionCase } from './attention-case';
import { thrownBy } from './check';
import { expectClose } from './expect-close';
import { checkGradients, checkResults } from './kernel-checks/values';
import { kernelGradients, kernelNumbers } from './kernel-run';
import { attentionOracle } from './oracle';
import { withScores, zeroScores } from './scene';

const hidden = Array<number>(60).fill(0);
const oneAndHidden = () => withScores([[-0.03, ...hidden]], [4, ...hidden]);

describe('A19: one score among sixty hidden ones has weight 1', () => {
  it.each([-1e9, -3.4e38, Number.NEGATIVE_INFINITY])('hidden by a bias of %d', async (low) => {
    const bias = tf.tensor4d([0, ...hidden.map(() => low)], [1, 1, 1, 61]);
    const { weights } = attend(composed(), oneAndHidden(), { scale: 1, bias, returns: ['weights'] });
    expect([...(await weights!.data())]).toEqual([1, ...hidden]);
  });

  it('hidden by a mask', async () => {
    const mask = dense(tf.tensor2d([[1, ...hidden]], [1, 61], 'bool'));
    const { weights } = attend(composed(), oneAndHidden(), { scale: 1, mask, returns: ['weights'] });
    expect([...(await weights!.data())]).toEqual([1, ...hidden]);
  });
});

describe('A21: a row', () => {
  it('that sees nothing gives 0 on floats of any range', async () => {
    const { output } = attend(composed(), zeroScores(1, [3, 5]), { mask: validLengths([0]) });
    expect([...(await output.data())]).toEqual([0]);
  });

  it.each([-1e4, -1e9, -1e30, -3.4e38])('whose every bias is %d weighs its keys alike', async (low) => {
    const bias = tf.fill<tf.Rank.R4>([1, 1, 1, 4], low);
    const { output } = attend(composed(), zeroScores(1, [1, 2, 3, 6]), { bias });
    expect([...(await output.data())]).toEqual([3]);
  });
});

describe('C13: backends agree', () => {
  const testCase = attentionCase({
    sizes: { B: 1, Hq: 2, Hkv: 2, Sq: 33, Skv: 33, D: 16, Dv: 16 },
    mask: 'causal',
    returns: ['weights', 'logSumExp'],
  });

  it('this one with cpu, within what each may differ from the oracle', async () => {
    const here = tf.getBackend();
    const numbers = await kernelNumbers(composed(), testCase);
    const gradients = await kernelGradients(composed(), testCase);
    await tf.setBackend('cpu');
    const onCpu = await kernelNumbers(composed(), testCase);
    const gradientsOnCpu = await kernelGradients(composed(), testCase);
    await tf.setBackend(here);
    const { maxAbsScore } = attentionOracle(testCase.oracle);
    expectClose({ actual: numbers, expected: onCpu, maxAbsScore });
    expectClose({ actual: gradients, expected: gradientsOnCpu, maxAbsScore, isGradient: true });
  });
});

describe('C14: sizes around 160, of which some gave all zeros', () => {
  it.each([157, 158, 159, 160, 161, 162])('%d tokens', async (S) => {
    const testCase = attentionCase({
      sizes: { B: 1, Hq: 2, Hkv: 1, Sq: S, Skv: S, D: 8, Dv: 8 },
      mask: 'causal',
    });
    await checkResults({ create: composed }, testCase);
    // A card in software takes seconds for each: two stand for all there.
    if (process.env.POLYHEAD_SAMPLE === undefined || S === 160 || S === 161)
      await checkGradients({ create: composed }, testCase);
  });
});

describe('sizes that tfjs computes wrongly on some graphics cards', () => {
  it('many blocks, whose gradients are added', async () => {
    const sizes = { B: 1, Hq: 1, Hkv: 1, Sq: 2_100, Skv: 40, D: 2, Dv: 2 };
    await checkGradients({ create: composed }, attentionCase({ sizes, mask: 'causal' }));
  });

  it.for([
    ['rows of scores', { B: 150, Hq: 9, Hkv: 3, Sq: 49, Skv: 2, D: 2, Dv: 1 }],
    ['matrices', { B: 66_000, Hq: 1, Hkv: 1, Sq: 1, Skv: 2, D: 1, Dv: 1 }],
  ] as const)('many %s', ([, sizes], { skip }) => {
    // Half a minute each in software.
    const { POLYHEAD_BACKEND: backend, POLYHEAD_PAGE: page, POLYHEAD_SAMPLE: sample } = process.env;
    skip(sample !== undefined && backend === 'webgpu' && page === undefined, 'WebGPU in Chromium runs it');
    return checkResults({ create: composed }, attentionCase({ sizes }));
  });
});

describe('numbers that graphics cards know badly', () => {
  it.each([-1e21, -1e30, -3.4e38])('a sink of %d, in a row that sees nothing', async (low) => {
    const scene = zeroScores(1, [3, 5]);
    const sinkLogits = tf.tensor1d([low]);
    const mask = dense(tf.tensor2d([[0, 0]], [1, 2], 'bool'));
    const { output, weights } = attend(composed(), scene, { mask, sinkLogits, returns: ['weights'] });
    expect([...(await output.data())]).toEqual([0]);
    expect([...(await weights!.data())]).toEqual([0, 0]);
  });

  it.each([100, 1e4, 1e6, 1e30])('scores far below a softcap of %d', async (softcap) => {
    const testCase = attentionCase({
      sizes: { B: 1, Hq: 2, Hkv: 1, Sq: 6, Skv: 7, D: 4, Dv: 4 },
      softcap,
      returns: ['weights', 'logSumExp'],
    });
    await checkResults({ create: composed }, testCase);
    await checkGradients({ create: composed }, testCase);
  });
});

describe('M12: an operation that a backend lacks', () => {
  it('is named, with the backend and one that has it', async () => {
    const here = tf.getBackend();
    tf.registerBackend('poor', () => tf.findBackendFactory('cpu')());
    for (const kernel of tf.getKernelsForBackend('cpu')) {
      if (kernel.kernelName !== 'Softmax') tf.registerKernel({ ...kernel, backendName: 'poor' });
    }
    await tf.setBackend('poor');
    const scene = zeroScores(1, [1, 3]);
    const output = (query: tf.Tensor) => attend(composed(), { ...scene, query: query as tf.Tensor4D }).output;
    const errors = [
      await thrownBy(() => output(scene.query)),
      await thrownBy(() => tf.grad((query) => tf.sum(output(query)))(scene.query)),
    ];
    await tf.setBackend(here);
    tf.removeBackend('poor');
    for (const error of errors) {
      expect(error).toSatisfy(isAttentionError);
      expect(String(error)).toMatch(
        /backend "poor" lacks the operation Softmax[\s\S]*tf.setBackend\('\w+'\)/,
      );
    }
  });
});
