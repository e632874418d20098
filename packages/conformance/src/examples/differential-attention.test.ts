import * as tf from '@tensorflow/tfjs-core';
import { beforeEach } from 'vitest';
import { describeVariant } from '../describe-variant';
import { DifferentialAttention, type DifferentialConfig, differentialOracle } from './differential-attention';

beforeEach(({ skip }) =>
  skip(tf.getBackend() !== 'cpu', 'an example: the suite asks the same on every backend'),
);

describeVariant('DifferentialAttention', {
  create: (config, parts) => new DifferentialAttention(config as DifferentialConfig, parts),
  oracle: differentialOracle,
  options: [
    ...['headDim', 'valueHeadDim', 'keyEmbedDim', 'valueEmbedDim', 'outputDim'],
    ...['useBias', 'dropout', 'scale', 'softcap', 'lambdaInit'],
  ],
  traits: { softmax: false, sumOfHeads: false, scoresPerHead: 2 },
  returns: ['headOutputs'],
  rows: [
    {
      name: 'a start of λ of its own',
      config: { embedDim: 6, numHeads: 2, lambdaInit: 0.3 },
      B: 2,
      Sq: 3,
      mask: 'causal',
      entrywise: true,
    },
  ],
});
