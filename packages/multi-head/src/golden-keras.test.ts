import { describeKeras } from '@polyhead/conformance';
import file from './fixtures/keras-multi-head.json';
import { MultiHeadAttention } from './index';

describeKeras(file, (config) => new MultiHeadAttention(config));
