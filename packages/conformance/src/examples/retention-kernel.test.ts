import * as tf from '@tensorflow/tfjs-core';
import { beforeEach } from 'vitest';
import { describeKernel } from '../describe-kernel';
import { refusedMasks } from './linear-kernel';
import { decays, retention, retentionOracle } from './retention-kernel';

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
    ...refusedMasks,
  },
});
