// Tables looked up by distance, each kind with random numbers: for a kernel, and for the oracle.
import type { DistanceIndex, RelativeTables } from '@polyhead/core';
import type * as tf from '@tensorflow/tfjs-core';
import { randomTensor, seededRandom } from './inputs';
import { toTensor } from './kernel-run';
import type { OracleInputs, Sizes } from './oracle';

interface RelativeCase {
  /** The tables as tensors, made anew. */
  tables(): RelativeTables;
  readonly oracle: Pick<OracleInputs, 'relative'>;
}

// Five rows; farther distances share the outer ones (Shaw et al. 2018, 1803.02155).
const R = 5;
const index: DistanceIndex = { from: -2, rows: Int32Array.of(0, 1, 2, 3, 4) };

const random = () => seededRandom(11);

export const relativeKinds: { readonly [name: string]: (sizes: Sizes) => RelativeCase } = {
  bias({ Hq }) {
    const table = randomTensor([Hq, R], random());
    return {
      tables: () => ({ bias: { table: toTensor(table) as tf.Tensor2D, index } }),
      oracle: { relative: { bias: { ...table, index } } },
    };
  },
  'keys, per head'({ Hq, D }) {
    const table = randomTensor([Hq, R, D], random());
    return {
      tables: () => ({ keys: { table: toTensor(table) as tf.Tensor3D, index } }),
      oracle: { relative: { keys: { ...table, index } } },
    };
  },
  'keys with a query of their own'({ B, Hq, Sq, D }) {
    const table = randomTensor([1, R, D], random());
    const query = randomTensor([B, Hq, Sq, D], random());
    return {
      tables: () => ({
        keys: { table: toTensor(table) as tf.Tensor3D, index, query: toTensor(query) as tf.Tensor4D },
      }),
      oracle: { relative: { keys: { ...table, index, query: query.data } } },
    };
  },
  queries({ D }) {
    const table = randomTensor([1, R, D], random());
    return {
      tables: () => ({ queries: { table: toTensor(table) as tf.Tensor3D, index } }),
      oracle: { relative: { queries: { ...table, index } } },
    };
  },
  values({ Hq, Dv }) {
    const table = randomTensor([Hq, R, Dv], random());
    return {
      tables: () => ({ values: { table: toTensor(table) as tf.Tensor3D, index } }),
      oracle: { relative: { values: { ...table, index } } },
    };
  },
};
