import { describeKeras } from '@polyhead/conformance';
import file from './fixtures/keras-grouped-query.json';
import { GroupedQueryAttention, type GroupedQueryConfig } from './index';

describeKeras(file, (config) => new GroupedQueryAttention(config as GroupedQueryConfig));
