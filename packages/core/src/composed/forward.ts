// The formula over all blocks of a call.
import * as tf from '@tensorflow/tfjs-core';
import { fullAxis, sliceBox } from '../backend/slice-box';
import type { Span } from '../contract/mask';
import { blockTensors, type SharedByHeads, sharedByHeads } from './block-tensors';
import { type Block, type Join, overBlocks } from './blocks';
import { attentionOutput, attentionWeights, logSumExp } from './formula';
import type { Prepared } from './prepare';

export interface ForwardRequest {
  readonly weights: boolean;
  readonly logSumExp: boolean;
}

export interface ForwardResult {
  readonly output: tf.Tensor4D; // [B, Hq, Sq, Dv]
  readonly weights?: tf.Tensor4D; // [B, Hq, Sq, Skv]
  readonly logSumExp?: tf.Tensor4D; // [B, Hq, Sq, 1]
}

const everyAxis: Join = ['concat', 'concat', 'concat'];

export function forward(call: Prepared, asked: ForwardRequest): ForwardResult {
  const { B, Hq, Sq, Skv, Dv } = call.sizes;
  if (call.query.size === 0) {
    return {
      output: tf.zeros([B, Hq, Sq, Dv]),
      ...(asked.weights && { weights: tf.zeros([B, Hq, Sq, Skv]) }),
      ...(asked.logSumExp && { logSumExp: tf.zeros([B, Hq, Sq, 1]) }),
    };
  }
  const outcome = overBlocks(call, {
    prepare: (block) => sharedByHeads(call, block),
    run(block, shared) {
      const x = blockTensors(call, block, shared);
      const found = attentionWeights(x);
      return {
        output: attentionOutput(found, x),
        ...(asked.weights && { weights: scatterToKeys(found.weights, block.keys, Skv, 3) }),
        ...(asked.logSumExp && { logSumExp: logSumExp(found, fullyMaskedRowsOf(shared, block)) }),
      };
    },
    joins: { output: everyAxis, weights: everyAxis, logSumExp: everyAxis },
  });
  return outcome as unknown as ForwardResult;
}

/** Those of the block's heads. */
function fullyMaskedRowsOf({ fullyMaskedRows: x }: SharedByHeads, { heads }: Block): tf.Tensor4D | undefined {
  return x && sliceBox(x, [fullAxis(x, 0), heads, fullAxis(x, 2), fullAxis(x, 3)]);
}

/** The block's keys at their places among all, without the sink key; zeros elsewhere. */
export function scatterToKeys(x: tf.Tensor4D, [from, to]: Span, Skv: number, axis: 2 | 3): tf.Tensor4D {
  const shape = [...x.shape] as [number, number, number, number];
  if (from === to) {
    shape[axis] = Skv;
    return tf.zeros(shape);
  }
  shape[axis] = to - from;
  const known = x.shape[axis] === to - from ? x : tf.slice(x, [0, 0, 0, 0], shape);
  if (to - from === Skv) return known;
  const padding = x.shape.map((_, i) => (i === axis ? [from, Skv - to] : [0, 0])) as [number, number][];
  return tf.pad(known, padding);
}
