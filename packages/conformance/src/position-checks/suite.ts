// What the suite of position methods is told.
import type { Attention, KeyValueCache, LayerParts, PositionMethod, TokenPositions } from '@polyhead/core';
import type { LayerConfig } from '../layer-case';
import type { PositionOracle } from './position-oracle';

export interface PositionCase {
  readonly name: string;
  create(sizes: {
    readonly numHeads: number;
    readonly headDim: number;
    readonly embedDim: number;
  }): PositionMethod;
  /** Its definition. */
  readonly oracle: PositionOracle;
  /** Is refused in cross-attention. */
  readonly selfOnly?: boolean;
  /** For methods of two dimensions: where the tokens of a call stand, also as one number for the oracle. */
  readonly grid?: {
    readonly tokens: number;
    readonly positions: readonly TokenPositions[];
    place(token: number): number;
    /** Why other positions are refused. */
    readonly refuses: string;
  };
}

export interface PositionVariant {
  readonly name: string;
  readonly config?: Partial<LayerConfig>;
  create(config: LayerConfig, parts: LayerParts): Attention;
  /** Why it cannot take a method that gives tables. */
  readonly refusesTables?: string;
}

export interface PositionSuite {
  readonly methods: readonly PositionCase[];
  readonly variants: readonly PositionVariant[];
  createCache(layer: Attention, batch: number): KeyValueCache;
}

/** One combination: what was found, and how it is tried. */
export interface PositionCell {
  readonly method: string;
  readonly variant: string;
  /** How the layer is called. */
  readonly calls: string;
  readonly mask: string;
  /** Why it is refused; absent where it gives the oracle's numbers. */
  readonly refused?: string;
  run(): void | Promise<void>;
}
