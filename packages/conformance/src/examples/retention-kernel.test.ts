import * as tf from '@tensorflow/tfjs-core';
import { beforeEach } from 'vitest';
import { describeKernel } from '../describe-kernel';
import { maskKinds } from '../mask-kinds';
import { decays, retention, retentionOracle } from './retention-kernel';

const prefixes = ['none', 'causal', 'lengths', 'lengths per row', 'causal lengths'];
const otherMasks = Object.keys(maskKinds).filter((mask) => !prefixes.includes(mask));
const why = 'a sum of decayed k vᵀ has no weights and no scores';

// Hundreds of calls with all pairs at once take a minute on other backends.
beforeEach(({ skip }) =>
  skip(tf.getBackend() !== 'cpu', 'an example: the suite asks the same on every backend'),
);

describeKernel('retention', {
  create: retention,
  oracle: retentionOracle,
  tensors: decays,
  ordered: 'a token decays with each one behind it',
  refuses: {
    ...{
      bias: why,
      softcap: why,
      sinkLogits: why,
      dropout: why,
      relative: why,
      weights: why,
      logSumExp: why,
    },
    ...Object.fromEntries(otherMasks.map((mask) => [`mask: ${mask}`, 'a row must see the first keys'])),
  },
});
