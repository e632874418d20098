// What the suite of position methods is told.
import type { Attention, KeyValueCache, LayerParts, PositionMethod, TokenPositions } from '@polyhead/core';
import type { LayerConfig } from '../layer-case';
import type { PositionOracle } from './position-oracle';

/** A position method: how it is made, and its definition. */
export interface PositionCase {
  readonly name: string;
  /** Makes the method for a layer of these sizes. */
  create(sizes: {
    readonly numHeads: number;
    readonly headDim: number;
    readonly embedDim: number;
  }): PositionMethod;
  /** Its definition. */
  readonly oracle: PositionOracle;
  /** Is refused in cross-attention. */
  readonly selfOnly?: boolean;
  /** For methods of two dimensions: the positions of the tokens of a call, also as one number for the oracle. */
  readonly grid?: {
    readonly tokens: number;
    readonly positions: readonly TokenPositions[];
    positionOf(token: number): number;
    /** Why other positions are refused. */
    readonly refuses: string;
  };
}

/** A variant that position methods are tried on. */
export interface PositionVariant {
  readonly name: string;
  /** Options of its config beside those of the suite. */
  readonly config?: Partial<LayerConfig>;
  create(config: LayerConfig, parts: LayerParts): Attention;
  /** Why it cannot take a method that gives tables. */
  readonly refusesTables?: string;
}

/** The methods and variants to combine. */
export interface PositionSuite {
  readonly methods: readonly PositionCase[];
  readonly variants: readonly PositionVariant[];
  /** A cache for a layer, which keeps every row. */
  createCache(layer: Attention, batch: number): KeyValueCache;
}

/** One combination of method, variant, call and mask. */
export interface PositionCell {
  readonly method: string;
  readonly variant: string;
  /** How the layer is called. */
  readonly calls: string;
  readonly mask: string;
  /** Why it is refused; absent where it gives the oracle's numbers. */
  readonly refused?: string;
  /** Throws, or rejects, where the combination does not do what it should. */
  run(): void | Promise<void>;
}
