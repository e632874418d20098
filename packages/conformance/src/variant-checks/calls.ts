// Checks of what a call may ask of a layer: results, a kernel, dropout in training.
import { type Attention, composed } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import type { Check } from '../check';
import { toHost } from '../kernel-run';
import { type LayerConfig, layerCase } from '../layer-case';
import { layerNumbers } from '../layer-run';
import { maxError } from '../tolerance';
import { takes, type Variant } from './suite';

const config: LayerConfig = { embedDim: 6, numHeads: 2, seed: 5 };
const row = { name: '', config, B: 2, Sq: 4, Skv: 5, mask: 'causal' as const };

export function callChecks(variant: Variant): readonly Check[] {
  const withDropout = takes(variant, { ...config, dropout: 0.5 });
  return [
    { name: 'returns what is asked for, with its shape, and the same output', run: () => checkReturns(variant) },
    { name: 'runs the kernel of the call, else its own, and names it', run: () => checkKernel(variant) },
    { name: 'tells the shape of a cache for its keys and values', run: () => checkCacheShape(variant) },
    ...(withDropout
      ? [
          { name: 'drops weights in training only, the same for the same seed', run: () => checkDropout(variant) },
          { name: 'keeps a part of the weights, scaled by 1 / (1 - rate)', run: () => checkKept(variant) },
        ]
      : []),
  ];
}
