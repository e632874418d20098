import { tfjsProducts } from '@polyhead/core';
import { describeProducts } from './describe-products';

describeProducts('tfjsProducts', { create: tfjsProducts });
