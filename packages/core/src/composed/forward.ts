// The formula over all blocks of a call.
import * as tf from '@tensorflow/tfjs-core';
import { fullAxis, sliceBox } from '../backend/slice-box';
import type { Span } from '../contract/mask';
import { blockTensors, type SharedByHeads, sharedByHeads } from './block-tensors';
import { type Block, type Join, overBlocks } from './blocks';
import { attentionOutput, attentionWeights, logSumExp } from './formula';
import type { Prepared } from './prepare';

/** What is wanted beside the output. */
export interface ForwardRequest {
  readonly weights: boolean;
  readonly logSumExp: boolean;
}

/** The results of a call, all of rank 4. */
export interface ForwardResult {
  readonly output: tf.Tensor4D; // [B, Hq, Sq, Dv]
  readonly weights?: tf.Tensor4D; // [B, Hq, Sq, Skv]
  readonly logSumExp?: tf.Tensor4D; // [B, Hq, Sq, 1]
}

const everyAxis: Join = ['concat', 'concat', 'concat'];

/** The results of a call; of one without queries, empty ones. */
export function forward(call: Prepared, request: ForwardRequest): ForwardResult {
  const { B, Hq, Sq, Skv, Dv } = call.sizes;
  if (call.query.size === 0) {
    return {
      output: tf.zeros([B, Hq, Sq, Dv]),
      ...(request.weights && { weights: tf.zeros([B, Hq, Sq, Skv]) }),
      ...(request.logSumExp && { logSumExp: tf.zeros([B, Hq, Sq, 1]) }),
    };
  }
  const outcome = overBlocks(call, {
    prepare: (block) => sharedByHeads(call, block),
    run(block, shared) {
      const x = blockTensors(call, block, shared);
      const rows = attentionWeights(x);
      return {
        output: attentionOutput(rows, x),
        ...(request.weights && { weights: scatterToKeys(rows.weights, block.keys, Skv, 3) }),
        ...(request.logSumExp && { logSumExp: logSumExp(rows, fullyMaskedRowsOf(shared, block)) }),
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

/** The block's keys among all keys, without the sink key; zeros elsewhere. */
export function scatterToKeys(x: tf.Tensor4D, [from, to]: Span, Skv: number, axis: 2 | 3): tf.Tensor4D {
  const shape = [...x.shape] as [number, number, number, number];
  if (from === to) {
    shape[axis] = Skv;
    return tf.zeros(shape);
  }
  shape[axis] = to - from;
  const ofKeys = x.shape[axis] === to - from ? x : tf.slice(x, [0, 0, 0, 0], shape);
  if (to - from === Skv) return ofKeys;
  const padding = x.shape.map((_, i) => (i === axis ? [from, Skv - to] : [0, 0])) as [number, number][];
  return tf.pad(ofKeys, padding);
}
