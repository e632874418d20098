import { commonOptions, describeVariant, shawOracle } from '@polyhead/conformance';
import { RelativePositionAttention } from './index';

describeVariant('RelativePositionAttention, shared tables of keys', {
  create: (config, parts) => new RelativePositionAttention({ ...config, maxRelativePosition: 2 }, parts),
  options: commonOptions,
  position: shawOracle({ k: 2 }),
});
