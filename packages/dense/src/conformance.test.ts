import { describeProducts } from '@polyhead/conformance';
import { denseProducts } from './index';

const backends = ['wasm'];

describeProducts('denseProducts', { create: () => denseProducts(), backends });
describeProducts('denseProducts, relaxed SIMD', {
  create: () => denseProducts({ relaxedSimd: true }),
  backends,
});
