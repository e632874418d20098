import { describeVariant } from '../describe-variant';
import { LatentAttention, latentOracle } from './latent-attention';

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
