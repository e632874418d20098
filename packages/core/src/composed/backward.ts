// The gradient over all blocks of a call: scores are computed again, so that none outlives its block.
import * as tf from '@tensorflow/tfjs-core';
import { addedToScores } from './added-to-scores';
import { blockTensors, whole } from './block-tensors';
import { type Block, type Join, overBlocks } from './blocks';
import { attention, attentionGradient, type BlockGradients } from './formula';
import { type Outcome, spread } from './forward';
import type { Prepared } from './prepare';
import { take } from './take';

const perRow: Join = ['concat', 'concat', 'concat'];
const perKey: Join = ['concat', 'concat', 'sum'];

/** The gradients of query, key, value, bias and sinkLogits from those of the results. */
export function backward(call: Prepared, results: Outcome, scale: number): Record<string, tf.Tensor4D> {
  const { query, key, value, bias, sink, sizes } = call;
  if (query.size === 0) {
    const inputs = Object.entries({
      query,
      key,
      value,
      ...(bias && { bias }),
      ...(sink && { sinkLogits: sink }),
    });
    return Object.fromEntries(inputs.map(([name, input]) => [name, tf.zerosLike(input)]));
  }
  return overBlocks(call, {
    prepare: (block) => addedToScores(call, block),
    run(block, added) {
      const x = blockTensors(call, block, added);
      const gradients = attentionGradient(x, attention(x), ofBlock(results, block, added.sinkKey));
      return {
        query: tf.mul(gradients.query, scale),
        key: spread(gradients.key, block.keys, sizes.Skv, 2),
        value: spread(gradients.value, block.keys, sizes.Skv, 2),
        ...(bias && { bias: sumTo(bias.shape, spread(gradients.scores, block.keys, sizes.Skv, 3)) }),
        ...(sink && { sinkLogits: sumTo(sink.shape, lastColumn(gradients.scores)) }),
      };
    },
    joins: {
      query: perRow,
      key: perKey,
      value: perKey,
      bias: [0, 1, 2].map((axis) => (bias?.shape[axis] === 1 ? 'sum' : 'concat')) as unknown as Join,
      sinkLogits: ['sum', 'concat', 'sum'],
    },
  });
}

function ofBlock({ output, weights, logSumExp }: Outcome, block: Block, sinkKey: boolean): BlockGradients {
  const { batch, heads, rows, keys } = block;
  const perHeadAndRow = (x: tf.Tensor4D) => take(x, [batch, heads, rows, whole(x, 3)]);
  const ofKeys = (x: tf.Tensor4D) => {
    const cut = take(x, [batch, heads, rows, keys]);
    return sinkKey
      ? tf.pad(cut, [
          [0, 0],
          [0, 0],
          [0, 0],
          [0, 1],
        ])
      : cut;
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
  return axes.length > 0 ? tf.sum(x, axes, true) : x;
}

function lastColumn(x: tf.Tensor4D): tf.Tensor4D {
  return take(x, [whole(x, 0), whole(x, 1), whole(x, 2), [x.shape[3] - 1, x.shape[3]]]);
}
