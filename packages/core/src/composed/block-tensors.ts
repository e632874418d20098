// Cuts the tensors of one block out of those of a call.
import * as tf from '@tensorflow/tfjs-core';
import { writeTensor } from '../backend/host-loop';
import { fullAxis, sliceBox } from '../backend/slice-box';
import type { Span } from '../contract/mask';
import { dropoutKeeps, dropoutRow } from '../kernel/dropout';
import { positionsOf } from '../kernel/token-positions';
import { blockTables, type PairIndices, pairIndices } from './block-tables';
import type { Block } from './blocks';
import type { BlockTensors } from './formula';
import { visiblePairs } from './non-finite';
import type { Prepared } from './prepare';
import { hasSinkKey, type ScoreBias, scoreBias } from './score-bias';

/** What the blocks of all heads of some rows have in common. */
export interface SharedByHeads extends ScoreBias {
  readonly indices: PairIndices;
}

/** @param block of all heads */
export function sharedByHeads(call: Prepared, block: Block): SharedByHeads {
  const indices = pairIndices(call, block, hasSinkKey(call, block));
  return { ...scoreBias(call, block, indices), indices };
}

/** The part of a call's tensors that a block computes with. */
export function blockTensors(call: Prepared, block: Block, shared: SharedByHeads): BlockTensors {
  const { terms, sinkKey, indices } = shared;
  const { batch, heads, rows, keys } = block;
  const added = terms && sliceBox(terms, [fullAxis(terms, 0), heads, fullAxis(terms, 2), fullAxis(terms, 3)]);
  const ofKeys = (x: tf.Tensor4D) => {
    const cut = sliceBox(x, [batch, keyValueHeads(call, heads), keys, fullAxis(x, 3)]);
    return sinkKey ? withZeroRow(cut) : cut;
  };
  return {
    query: sliceBox(call.query, [batch, heads, rows, fullAxis(call.query, 3)]),
    key: ofKeys(call.key),
    value: ofKeys(call.value),
    softcap: call.softcap,
    tables: blockTables(call, block, indices),
    ...(added && { added }),
    ...(call.dropout && { keep: dropoutFactors(call, block, sinkKey) }),
    ...(call.needsCare && { visible: visiblePairs(shapeOfPairs(block, sinkKey), added) }),
  };
}

/** Query head h reads key/value head floor(h / G). */
function keyValueHeads({ sizes: { Hq, Hkv } }: Prepared, [from, to]: Span): Span {
  return [(from * Hkv) / Hq, (to * Hkv) / Hq];
}

/** [b, hq, rows, keys], the sink key among them. */
function shapeOfPairs({ batch, heads, rows, keys }: Block, sinkKey: boolean): tf.ShapeMap['R4'] {
  const [b, hq, rowCount, keyCount] = [batch, heads, rows, keys].map(([from, to]) => to - from);
  return [b!, hq!, rowCount!, keyCount! + (sinkKey ? 1 : 0)];
}

function withZeroRow(x: tf.Tensor4D): tf.Tensor4D {
  const [b, h, , width] = x.shape;
  return tf.concat([x, tf.zeros([b, h, 1, width])], 2);
}

/** 0 or 1 / (1 - rate) for each weight of the block; the sink key, whose value is 0, is never dropped. */
function dropoutFactors({ dropout, order, sizes }: Prepared, block: Block, sinkKey: boolean): tf.Tensor4D {
  const { rate, seed } = dropout!;
  const { batch, heads, rows, keys } = block;
  const shape = shapeOfPairs(block, sinkKey);
  const keyCount = shape[3];
  return writeTensor<tf.Rank.R4>(shape, (factors) => {
    factors.fill(1);
    let at = 0;
    for (let b = batch[0]; b < batch[1]; b++) {
      const queries = positionsOf(order.query, b, rows, sizes.Sq);
      const columns = positionsOf(order.key, b, keys, sizes.Skv);
      for (let h = heads[0]; h < heads[1]; h++) {
        for (let i = 0; i < queries.length; i++, at += keyCount) {
          const row = dropoutRow(seed, b, h, queries[i]!);
          for (let j = 0; j < columns.length; j++) {
            factors[at + j] = dropoutKeeps(row, columns[j]!, rate) ? 1 / (1 - rate) : 0;
          }
        }
      }
    }
  });
}
