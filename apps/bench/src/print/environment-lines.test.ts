import { expect, it } from 'vitest';
import { environmentLines } from './environment-lines';

it('says what ran, and why not something before it', () => {
  const backend = {
    name: 'wasm',
    device: 'SIMD',
    passedOver: [{ name: 'tensorflow', reason: 'not there' }],
  } as const;
  const environment = { tfjs: '4.22.0', node: 'v20.20.2', cpu: 'Some CPU', cores: 2 };
  expect(environmentLines(backend, environment)).toEqual([
    'backend   wasm (SIMD)',
    '          not tensorflow: not there',
    'versions  TensorFlow.js 4.22.0, Node v20.20.2',
    'machine   Some CPU, 2 cores',
  ]);
});
