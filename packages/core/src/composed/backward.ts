// The gradient over all blocks of a call: scores are computed again, so that none outlives its block.
import * as tf from '@tensorflow/tfjs-core';
import { fullAxis, sliceBox } from '../backend/slice-box';
import { blockTensors, type SharedByHeads, sharedByHeads } from './block-tensors';
import { type Block, type Join, overBlocks } from './blocks';
import { accumulate } from './distance-lookup';
import { attentionGradient, type ResultGradients } from './formula';
import { type ForwardResult, scatterToKeys } from './forward';
import type { Differentiable, Prepared } from './prepare';

type Shape4 = [number, number, number, number];
type Gradients = { readonly [name in keyof Differentiable]?: tf.Tensor4D };

/** The gradients of a call's inputs from those of its results, each in rank 4. */
export function backward(call: Prepared, results: ForwardResult): Gradients {
  const { sizes, scale, tables } = call;
  return overBlocks(call, {
    prepare: (block) => sharedByHeads(call, block),
    run(block, shared) {
      const x = blockTensors(call, block, shared);
      const gradients = attentionGradient(x, ofBlock(results, block, shared.sinkKey));
      const { keys, keysQuery, queries, values } = gradients.tables;
      const sharedQueries = tables?.queries?.heads === 1 ? [0, 1] : [0]; // each head has had a copy
      return {
        query: tf.mul(gradients.query, scale),
        key: scatterToKeys(gradients.key, block.keys, sizes.Skv, 2),
        value: scatterToKeys(gradients.value, block.keys, sizes.Skv, 2),
        ...scoreTerms(call, block, { shared, scores: gradients.scores }),
        ...(keys && { keyTable: tf.sum<tf.Tensor4D>(keys, 0, true) }),
        ...(keysQuery && { keyTableQuery: tf.mul<tf.Tensor4D>(keysQuery, scale) }),
        ...(queries && { queryTable: tf.mul<tf.Tensor4D>(tf.sum(queries, sharedQueries, true), scale) }),
        ...(values && { valueTable: tf.sum<tf.Tensor4D>(values, 0, true) }),
      };
    },
    joins: joins(call),
  });
}

/** How the parts of each gradient make the whole: side by side, or summed where blocks share the input. */
function joins({ bias, tables }: Prepared): Record<keyof Differentiable, Join> {
  const perRow: Join = ['concat', 'concat', 'concat'];
  const perKey: Join = ['concat', 'concat', 'sum'];
  const perHead = (heads: number | undefined): Join => ['sum', heads === 1 ? 'sum' : 'concat', 'sum'];
  const axis = (n: number) => (bias?.shape[n] === 1 ? 'sum' : 'concat');
  return {
    query: perRow,
    key: perKey,
    value: perKey,
    bias: [axis(0), axis(1), axis(2)],
    sinkLogits: perHead(undefined),
    biasTable: perHead(undefined),
    keyTable: perHead(tables?.keys?.heads),
    keyTableQuery: perRow,
    queryTable: perHead(tables?.queries?.heads),
    valueTable: perHead(tables?.values?.heads),
  };
}

/** The gradients of what is added to scores, from that of the scores [b, hq, rows, keys]. */
function scoreTerms(
  { bias, sink, sizes }: Prepared,
  { keys }: Block,
  { shared, scores }: { readonly shared: SharedByHeads; readonly scores: tf.Tensor4D },
): Gradients {
  const { bias: index } = shared.indices;
  return {
    ...(bias && { bias: sumTo(bias.shape, scatterToKeys(scores, keys, sizes.Skv, 3)) }),
    ...(sink && { sinkLogits: sumTo([1, -1, 1, 1], lastColumn(scores)) }),
    ...(index && { biasTable: tf.sum<tf.Tensor4D>(accumulate(scores, index, 'neither'), 0, true) }), // [1, hq, 1, R]
  };
}

function ofBlock(
  { output, weights, logSumExp }: ForwardResult,
  block: Block,
  sinkKey: boolean,
): ResultGradients {
  const { batch, heads, rows, keys } = block;
  const perHeadAndRow = (x: tf.Tensor4D) => sliceBox(x, [batch, heads, rows, fullAxis(x, 3)]);
  const ofKeys = (x: tf.Tensor4D) => {
    const part = sliceBox(x, [batch, heads, rows, keys]);
    const [b, h, rowCount] = part.shape;
    return sinkKey ? tf.concat([part, tf.zeros<tf.Rank.R4>([b, h, rowCount, 1])], 3) : part;
  };
  return {
    output: perHeadAndRow(output),
    ...(weights && { weights: ofKeys(weights) }),
    ...(logSumExp && { logSumExp: perHeadAndRow(logSumExp) }),
  };
}

/** x summed over the axes along which a tensor of this shape was broadcast. */
function sumTo(shape: readonly number[], x: tf.Tensor4D): tf.Tensor4D {
  const axes = [0, 1, 2, 3].filter((axis) => shape[axis] === 1 && x.shape[axis] !== 1);
  if (x.size === 0) return tf.zeros(x.shape.map((size, axis) => (axes.includes(axis) ? 1 : size)) as Shape4);
  return axes.length > 0 ? tf.sum(x, axes, true) : x;
}

function lastColumn(x: tf.Tensor4D): tf.Tensor4D {
  return sliceBox(x, [fullAxis(x, 0), fullAxis(x, 1), fullAxis(x, 2), [x.shape[3] - 1, x.shape[3]]]);
}
