// A layer case: config and call, with the numbers they call for, the same for the oracle and for a layer.
import type { Attention, LayerCall, LayerInputs } from '@polyhead/core';
import { dropoutFactor } from '@polyhead/core/kernel';
import type * as tf from '@tensorflow/tfjs-core';
import { type BiasName, randomBias } from './attention-case';
import { randomTensor, seededRandom } from './inputs';
import { toTensor, toTensors } from './kernel-run';
import type { LayerOracleInputs, OracleLayerConfig } from './layer-oracle';
import { type MaskKind, type MaskName, maskKinds } from './mask-kinds';
import type { HostTensor, OracleInputs, Sizes } from './oracle';

/** Options of the configs of all variants; a variant has some of them, and may have others of its own. */
export interface LayerConfig extends OracleLayerConfig {
  readonly embedDim: number;
  readonly headDim?: number;
  readonly valueHeadDim?: number;
  readonly keyEmbedDim?: number;
  readonly valueEmbedDim?: number;
  readonly outputDim?: number;
  readonly useBias?: boolean;
  readonly dropout?: number;
  readonly seed?: number;
  readonly numMemoryKeyValues?: number | undefined;
  readonly learnedSinks?: boolean;
}

/** A config, and a call of its layer. Without `Skv` it attends to itself. */
export interface LayerRow {
  readonly name: string;
  /** A variant's own options may stand here too. */
  readonly config: LayerConfig | (LayerConfig & { readonly [option: string]: unknown });
  readonly B: number;
  readonly Sq: number;
  readonly Skv?: number;
  /** Values that are not the keys. */
  readonly ownValue?: boolean;
  readonly mask?: MaskName;
  readonly bias?: BiasName;
  readonly queryStart?: number;
  /** Dropout of the config drops weights. */
  readonly training?: boolean;
  /** Heads of masks and bias for each of numHeads. Default: 1. */
  readonly scoresPerHead?: number;
  /** Gradients are compared entry by entry. Default: along random directions. */
  readonly entrywise?: boolean;
}

/** A row with its numbers. */
export interface LayerCase {
  /** query [B, Sq, E], key [B, Skv, E of keys], value [B, Skv, E of values] */
  readonly arrays: { readonly [input: string]: HostTensor };
  readonly oracle: Omit<LayerOracleInputs, 'weights'>;
  /** What the dropout of a kernel's call multiplies weights with, for the oracle. */
  keep(dropout: { readonly rate: number; readonly seed: number }): NonNullable<OracleInputs['keep']>;
  inputs(): LayerInputs;
  call(): LayerCall;
}

/** The row with random numbers; the same row gets the same. */
export function layerCase(row: LayerRow): LayerCase {
  const { config, B, Sq, Skv = Sq, mask = 'none', bias = 'none', queryStart, scoresPerHead = 1 } = row;
  const { embedDim, numHeads, numKeyValueHeads: Hkv = numHeads, keyEmbedDim = embedDim } = config;
  // Masks and biases do not know of head sizes.
  const sizes: Sizes = { B, Hq: numHeads * scoresPerHead, Hkv, Sq, Skv, D: 0, Dv: 0 };
  const random = seededRandom(B * 100 + Sq * 10 + Skv + embedDim);
  const query = randomTensor([B, Sq, embedDim], random);
  const key = row.Skv === undefined ? undefined : randomTensor([B, Skv, keyEmbedDim], random);
  const value = row.ownValue
    ? randomTensor([B, Skv, config.valueEmbedDim ?? keyEmbedDim], random)
    : undefined;
  const arrays = { query, ...(key && { key }), ...(value && { value }) };
  const added = bias === 'none' ? undefined : randomBias(bias, sizes, random);
  const { isVisible } = maskKinds[mask] as MaskKind;
  const start = queryStart ?? Skv - Sq;
  return {
    arrays,
    oracle: {
      config,
      ...arrays,
      isVisible: (b, h, i, j) => isVisible({ sizes, b, h, i, query: start + i, j }),
      ...(added && { bias: added }),
    },
    keep: (dropout) => (b, h, i, j) => dropoutFactor(dropout, { b, h, query: start + i, key: j }),
    inputs: () => toTensors(arrays) as unknown as LayerInputs,
    call() {
      const ofKind = maskKinds[mask].mask(sizes);
      return {
        ...(ofKind && { mask: ofKind }),
        ...(added && { bias: toTensor(added) as tf.Tensor4D }),
        ...(queryStart !== undefined && { queryStart }),
        ...(row.training && { training: { seed: 1 } }),
      };
    },
  };
}

/** Numbers for every variable of a layer, small enough that scores stay of size 1. */
export function randomWeights(layer: Attention): { readonly [name: string]: HostTensor } {
  const random = seededRandom(layer.variables.length);
  const entries = layer.variables.map(({ name, variable }) => {
    const { shape, data } = randomTensor(variable.shape, random);
    return [name, { shape, data: data.map((x) => x / 4) }] as const;
  });
  return Object.fromEntries(entries);
}
