import * as tf from '@tensorflow/tfjs-core';
import { beforeEach } from 'vitest';
import { describeKernel } from '../describe-kernel';
import { linear, linearOracle, refusedMasks } from './linear-kernel';

const why = 'a sum of φ(k) v has no weights and no scores';

// Hundreds of calls with all pairs at once take a minute on other backends.
beforeEach(({ skip }) =>
  skip(tf.getBackend() !== 'cpu', 'an example: the suite asks the same on every backend'),
);

describeKernel('linear', {
  create: linear,
  oracle: linearOracle,
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
    scale: 'it cancels in the quotient',
    ...refusedMasks,
  },
});
