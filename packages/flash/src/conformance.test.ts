import { describeKernel } from '@polyhead/conformance';
import { flashCpu } from './cpu';
import { isWasm } from './fixtures/fused-kernel';
import { flash } from './index';
import { flashWasm } from './wasm';

const refuses = { weights: 'an array of Sq x Skv, which the kernel never holds' };

describeKernel('flash', { create: () => flash(), refuses });

// Tiles so small that every case has several, ragged ones.
if (isWasm) {
  describeKernel('flashWasm, small tiles', {
    create: () => flashWasm({ rowsPerTile: 3, keysPerTile: 4 }),
    refuses,
  });
  describeKernel('flashWasm, plain SIMD', { create: () => flashWasm({ relaxedSimd: false }), refuses });
} else {
  describeKernel('flashCpu, small tiles', {
    create: () => flashCpu({ rowsPerTile: 3, keysPerTile: 2 }),
    refuses,
  });
}
