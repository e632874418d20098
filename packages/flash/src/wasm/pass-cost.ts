// What the passes of a call cost.
import type { KernelCall } from '@polyhead/core';
import { bytesOf, type CallTensors, type PassCost } from '@polyhead/core/kernel';
import type * as tf from '@tensorflow/tfjs-core';
import type { TileSizes } from '../kernel-options';
import { tilesOf } from './call-on-heap';

export function forwardCost(call: KernelCall, tensors: CallTensors, tile: TileSizes): PassCost {
  const { sizes } = call;
  const { B, Hq, Hkv, Sq, D, Dv } = sizes;
  return {
    multiplyAdds: call.plan.pairs * (D + Dv),
    bytes: bytesRead(call, tensors) + B * Hq * Sq * Dv * 4,
    units: B * Hkv * Math.ceil(Sq / tilesOf(tile, sizes).queriesPerTile),
  };
}

export function backwardCost(call: KernelCall, tensors: CallTensors): PassCost {
  const { sizes } = call;
  const { B, Hq, Hkv, Sq, D, Dv } = sizes;
  return {
    multiplyAdds: call.plan.pairs * (3 * D + 2 * Dv),
    bytes: 2 * bytesRead(call, tensors) + 2 * B * Hq * Sq * Dv * 4,
    units: headsShareGradients(tensors, sizes) ? 1 : B * Hkv,
  };
}

function bytesRead({ inputs, plan }: KernelCall, tensors: CallTensors): number {
  const inputTensors: readonly tf.Tensor[] = Object.values(tensors);
  const stored = inputs.stored?.parts.flatMap(({ key, value }) => [key.data, value.data]) ?? [];
  return [...inputTensors, ...plan.dense, ...stored].reduce((sum, tensor) => sum + bytesOf(tensor), 0);
}

/** Whether key/value heads add to the same numbers: two threads would lose some of what they add. */
function headsShareGradients(
  { bias, biasTable, keyTable, queryTable, valueTable }: CallTensors,
  { B, Hq }: { readonly B: number; readonly Hq: number },
): boolean {
  const ofBias = bias !== undefined && (bias.shape[0] < B || bias.shape[1] < Hq);
  const ofTables = [biasTable, keyTable, queryTable, valueTable].some(
    (table) => table !== undefined && (B > 1 || table.shape[0] < Hq),
  );
  return ofBias || ofTables;
}
