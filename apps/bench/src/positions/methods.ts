// The position methods that are compared: how each is made for a layer, and its definition in doubles.
import {
  alibiOracle,
  bertRelativeOracle,
  debertaOracle,
  type PositionOracle,
  rotaryOracle,
  shawOracle,
  t5Oracle,
  transformerXLOracle,
} from '@polyhead/conformance/oracle';
import type { PositionMethod } from '@polyhead/core';
import { MultiHeadAttention } from '@polyhead/multi-head';
import {
  alibi,
  alibiSlopes,
  bertRelative,
  deberta,
  debertaBucket,
  rotary,
  shaw,
  t5,
  t5Bucket,
  transformerXL,
} from '@polyhead/relative-position';
import type { PositionName } from './names';

/** A causal layer, and the most tokens that it sees. */
export interface PositionShape {
  readonly embedDim: number;
  readonly numHeads: number;
  readonly longest: number;
}

export interface ComparedMethod {
  readonly position: PositionMethod;
  readonly oracle: PositionOracle;
  /** Numbers that it keeps of a token: a cosine and a sine of each pair that is turned. */
  readonly angles?: number;
}

/** As in the layers of a decoder: nothing is made for keys ahead. */
const oneDirection = { bidirectional: false } as const;
/** Of DeBERTa's version 3. */
const logBuckets = { buckets: 256, maxDistance: 512 } as const;
const seed = 1;

type Make = (shape: PositionShape) => ComparedMethod;

const methods: Readonly<Record<PositionName, Make>> = {
  rotary(shape) {
    const headDim = headDimOf(shape);
    return {
      position: rotary({ headDim }),
      oracle: rotaryOracle({ rotaryDim: headDim }),
      angles: headDim,
    };
  },
  alibi: ({ numHeads }) => ({ position: alibi({ numHeads }), oracle: alibiOracle(alibiSlopes(numHeads)) }),
  t5: ({ numHeads }) => ({
    position: t5({ numHeads, seed, ...oneDirection }),
    oracle: t5Oracle((distance) => t5Bucket(distance, oneDirection)),
  }),
  shaw: (shape) => ({
    position: shaw({ headDim: headDimOf(shape), valueTable: 'own', seed }),
    oracle: shawOracle({ k: 128, values: 'position/values' }),
  }),
  bertRelative: (shape) => ({
    position: bertRelative({
      headDim: headDimOf(shape),
      maxPositions: shape.longest,
      type: 'relative_key_query',
      seed,
    }),
    oracle: bertRelativeOracle({ P: shape.longest, ofKeys: true }),
  }),
  transformerXL: (shape) => ({
    position: transformerXL({ numHeads: shape.numHeads, headDim: headDimOf(shape), seed, ...oneDirection }),
    oracle: transformerXLOracle({ E: shape.embedDim }),
  }),
  deberta: ({ embedDim, numHeads }) => ({
    position: deberta({ embedDim, numHeads, seed, ...logBuckets }),
    oracle: debertaOracle({ span: logBuckets.buckets, bucketOf: (d) => debertaBucket(d, logBuckets) }),
  }),
};

/** What the methods are, where their names leave it open. */
export const methodNotes: Readonly<Partial<Record<PositionName, string>>> = {
  t5: 'one direction, 32 buckets; scores are not scaled',
  shaw: 'tables for keys and values, k = 128',
  bertRelative: 'relative_key_query',
  transformerXL: 'one direction; projected sinusoids are kept between calls',
  deberta: 'both terms, 256 log buckets; the table is projected at each call',
};

export const headDimOf = ({ embedDim, numHeads }: PositionShape) => embedDim / numHeads;

/** A layer and its position method, with the same weights each time; absent for `none`. */
export interface PositionedLayer {
  readonly name: PositionName | 'none';
  readonly shape: PositionShape;
  readonly attention: MultiHeadAttention;
  readonly method?: ComparedMethod;
  dispose(): void;
}

export function createPositioned(name: PositionName | 'none', shape: PositionShape): PositionedLayer {
  const { embedDim, numHeads } = shape;
  const method = name === 'none' ? undefined : methods[name](shape);
  const attention = new MultiHeadAttention(
    { embedDim, numHeads, seed },
    method ? { position: method.position } : {},
  );
  return {
    name,
    shape,
    attention,
    ...(method && { method }),
    dispose() {
      attention.dispose();
      method?.position.dispose();
    },
  };
}
