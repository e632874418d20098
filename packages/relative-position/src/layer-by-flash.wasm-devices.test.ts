import { commonOptions, describeVariant, shawOracle } from '@polyhead/conformance';
import { composed, firstSupported } from '@polyhead/core';
import { flash } from '@polyhead/flash';
import { RelativePositionAttention } from './index';

const fused = firstSupported([{ ...flash(), worthwhile: () => true }, composed()]);

describeVariant('RelativePositionAttention by flash', {
  create: (config, parts) =>
    new RelativePositionAttention({ ...config, maxRelativePosition: 2 }, { kernel: fused, ...parts }),
  options: commonOptions,
  position: shawOracle({ k: 2 }),
  knownGaps: {
    'returns what the call names, with its shape, and the same output':
      'weights come from another kernel, which rounds otherwise',
    'runs the kernel of the call, else its own, and names it': 'a layer without a kernel gets this one here',
  },
});
