import { commonOptions, describeVariant } from '@polyhead/conformance';
import { MultiHeadAttention } from './index';

describeVariant('MultiHeadAttention', {
  create: (config, parts) => new MultiHeadAttention(config, parts),
  options: [...commonOptions, 'numMemoryKeyValues', 'addZeroAttention'],
});
