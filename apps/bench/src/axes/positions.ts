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

/** A causal layer, and the most tokens that it sees. */
export interface PositionShape {
  readonly embedDim: number;
  readonly numHeads: number;
  readonly longest: number;
  /** Of its tables. Default: 1. */
  readonly seed?: number | undefined;
}

/** An entry of the list is all that a method needs to stand in every table. */
export interface ComparedPosition {
  readonly name: string;
  /** What it is, where its name leaves it open. */
  readonly note?: string;
  /** `bench train` trains a decoder with it only where it is asked for. */
  readonly isOptional?: true;
  create(shape: PositionShape): CreatedPosition;
}

export interface CreatedPosition {
  readonly position: PositionMethod;
  /** Its definition in doubles. */
  readonly oracle: PositionOracle;
  /** Numbers that it keeps of a token: a cosine and a sine of each pair that is turned. */
  readonly angles?: number;
}

/** As in the layers of a decoder: nothing is made for keys ahead. */
const oneDirection = { bidirectional: false } as const;
/** Of DeBERTa's version 3. */
const logBuckets = { buckets: 256, maxDistance: 512 } as const;

/** Those that a causal layer takes for tokens in a line. */
export const positions: readonly ComparedPosition[] = [
  {
    name: 'rotary',
    create(shape) {
      const headDim = headDimOf(shape);
      return {
        position: rotary({ headDim }),
        oracle: rotaryOracle({ rotaryDim: headDim }),
        angles: headDim,
      };
    },
  },
  {
    name: 'alibi',
    create: ({ numHeads }) => ({
      position: alibi({ numHeads }),
      oracle: alibiOracle(alibiSlopes(numHeads)),
    }),
  },
  {
    name: 't5',
    note: 'one direction, 32 buckets; scores are not scaled',
    create: ({ numHeads, seed = 1 }) => ({
      position: t5({ numHeads, seed, ...oneDirection }),
      oracle: t5Oracle((distance) => t5Bucket(distance, oneDirection)),
    }),
  },
  {
    name: 'shaw',
    note: 'tables for keys and values, k = 128',
    create: (shape) => ({
      position: shaw({ headDim: headDimOf(shape), valueTable: 'own', seed: seedOf(shape) }),
      oracle: shawOracle({ k: 128, values: 'position/values' }),
    }),
  },
  {
    name: 'bertRelative',
    note: 'relative_key_query',
    isOptional: true,
    create: (shape) => ({
      position: bertRelative({
        headDim: headDimOf(shape),
        maxPositions: shape.longest,
        type: 'relative_key_query',
        seed: seedOf(shape),
      }),
      oracle: bertRelativeOracle({ P: shape.longest, ofKeys: true }),
    }),
  },
  {
    name: 'transformerXL',
    note: 'one direction; projected sinusoids are kept between calls',
    isOptional: true,
    create: (shape) => ({
      position: transformerXL({
        numHeads: shape.numHeads,
        headDim: headDimOf(shape),
        seed: seedOf(shape),
        ...oneDirection,
      }),
      oracle: transformerXLOracle({ E: shape.embedDim }),
    }),
  },
  {
    name: 'deberta',
    note: 'both terms, 256 log buckets; the table is projected at each call',
    isOptional: true,
    create: ({ embedDim, numHeads, seed = 1 }) => ({
      position: deberta({ embedDim, numHeads, seed, ...logBuckets }),
      oracle: debertaOracle({ span: logBuckets.buckets, bucketOf: (d) => debertaBucket(d, logBuckets) }),
    }),
  },
];

const seedOf = ({ seed = 1 }: PositionShape) => seed;

export const headDimOf = ({ embedDim, numHeads }: PositionShape) => embedDim / numHeads;
