import * as tf from '@tensorflow/tfjs-core';
import { beforeEach } from 'vitest';
import { describeVariant } from '../describe-variant';
import { LatentAttention, latentOracle } from './latent-attention';

beforeEach(({ skip }) =>
  skip(tf.getBackend() !== 'cpu', 'an example: the suite asks the same on every backend'),
);

describeVariant('LatentAttention', {
  create: (config, parts) => new LatentAttention(config, parts),
  oracle: latentOracle,
  options: ['headDim', 'outputDim', 'dropout', 'scale', 'latentDim'],
  traits: { sumOfHeads: false },
  inputs: [],
  rows: [
    {
      name: 'a latent of one number',
      config: { embedDim: 6, numHeads: 2, latentDim: 1 },
      B: 2,
      Sq: 4,
      mask: 'causal',
    },
  ],
});
