import { commonOptions, describeVariant } from '@polyhead/conformance';
import { GroupedQueryAttention, type GroupedQueryConfig } from './index';

describeVariant('GroupedQueryAttention', {
  // The suite leaves the number out where it tests something else.
  create: (config, parts) =>
    new GroupedQueryAttention({ numKeyValueHeads: config.numHeads, ...config } as GroupedQueryConfig, parts),
  options: [...commonOptions, 'numKeyValueHeads'],
});
