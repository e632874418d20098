// Parts that the default kernel computed, on every backend: numbers are waited for.
import { attentionCase, expectClose, readAll, toTensors } from '@polyhead/conformance';
import { attend, composed, slidingWindow } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { mergeAttention, type PartialAttention } from './index';

const [Sq, Skv] = [5, 12];
const returns = ['logSumExp'] as const;
const mask = slidingWindow({ left: 1, right: 0 });

it('more of them than WebGPU gives a program buffers, most of which a row does not see', async () => {
  const sizes = { B: 2, Hq: 4, Hkv: 2, Sq, Skv, D: 3, Dv: 2 };
  const { query, key, value } = toTensors(attentionCase({ sizes }).arrays) as Record<string, tf.Tensor4D>;
  const parts = Array.from({ length: Skv }, (_, from) => {
    const cut = (x: tf.Tensor4D) => tf.slice(x, [0, 0, from, 0], [-1, -1, 1, -1]);
    const inputs = { query: query!, key: cut(key!), value: cut(value!) };
    return attend(composed(), inputs, { mask, queryStart: Skv - Sq - from, returns }) as PartialAttention;
  });
  const { output, logSumExp } = mergeAttention(parts);
  const whole = attend(composed(), { query: query!, key: key!, value: value! }, { mask, returns });
  expectClose({
    actual: await readAll({ output, logSumExp }),
    expected: await readAll({ output: whole.output, logSumExp: whole.logSumExp! }),
  });
});

it('of which none sees a thing', async () => {
  const nothing = { output: tf.zeros<tf.Rank.R4>([1, 1, 2, 3]), logSumExp: tf.fill([1, 1, 2], -Infinity) };
  const { output, logSumExp } = mergeAttention([nothing, nothing] as PartialAttention[]);
  expect([...(await output.data())]).toEqual([0, 0, 0, 0, 0, 0]);
  expect([...(await logSumExp.data())]).toEqual([-Infinity, -Infinity]);
});
