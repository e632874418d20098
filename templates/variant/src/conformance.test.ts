import { describeVariant } from '@polyhead/conformance';
import { VariantAttention } from './index';

describeVariant('VariantAttention', { create: (config, parts) => new VariantAttention(config, parts) });
