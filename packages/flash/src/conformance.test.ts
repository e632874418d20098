import { describeKernel } from '@polyhead/conformance';
import { flashCpu } from './cpu';
import { flash } from './index';

const refuses = { weights: 'an array of Sq x Skv, which the kernel never holds' };

describeKernel('flash', flash(), { refuses });

// Tiles so small that every case has several, ragged ones. Slow, and the same on every backend.
if (process.env.POLYHEAD_BACKEND === 'cpu') {
  describeKernel('flashCpu, small tiles', flashCpu({ rowsPerTile: 3, keysPerTile: 2 }), { refuses });
}
