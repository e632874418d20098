// What is added to scores before softmax: the bias, -Infinity for each hidden pair, and the logit of the sink key.
//
// The sink key is one more key and value of zeros. With learned sinks its logit is the head's. Else, and where a sink is
// -Infinity, it stands in for rows that see nothing, which would be 0 / 0: its logit is 0 there and -Infinity elsewhere.
import * as tf from '@tensorflow/tfjs-core';
import { largestOfRows, representable, zeroWhere } from '../backend/device-math';
import { constant, writeTensor } from '../backend/host-loop';
import { fullAxis, sliceBox } from '../backend/slice-box';
import type { MaskPlan } from '../contract/mask';
import { eachRowOfPlan } from '../masks/compile-mask';
import type { PairIndices } from './block-tables';
import type { Block } from './blocks';
import { lookup } from './distance-lookup';
import type { Prepared } from './prepare';

/** What is added to the scores of a block, and which of its rows see nothing. */
export interface ScoreBias {
  /** Broadcasts to [b, h, rows, keys], or to [b, h, rows, keys + 1] with a sink key; absent where nothing is added. */
  readonly terms?: tf.Tensor4D;
  readonly sinkKey: boolean;
  /** 1 for rows that see nothing and have no sink, else 0: [1 | b, 1 | h, 1 | rows, 1]; absent where there are none. */
  readonly fullyMaskedRows?: tf.Tensor4D;
}

/** All that is added to the scores of a block of all heads. */
export function scoreBias(call: Prepared, block: Block, indices: PairIndices): ScoreBias {
  const keyCount = block.keys[1] - block.keys[0];
  const terms = keyCount > 0 ? termsOfKeys(call, block, indices) : undefined;
  if (!hasSinkKey(call, block)) return { sinkKey: false, ...(terms && { terms }) };
  const sink = call.sink && representable(call.sink);
  const fullyMaskedRows = call.sinkIsFinite ? undefined : rowsWithoutLogit(sink, terms, keyCount);
  const standIn = fullyMaskedRows && zeroWhere(fullyMaskedRows);
  const logit = sink && standIn ? tf.maximum<tf.Tensor4D>(sink, standIn) : (sink ?? standIn!);
  return {
    sinkKey: true,
    terms: withColumn(terms, logit, keyCount),
    ...(fullyMaskedRows && { fullyMaskedRows }),
  };
}

function termsOfKeys(call: Prepared, block: Block, indices: PairIndices): tf.Tensor4D | undefined {
  const hidden = sum([hiddenBySpans(call.plan, block), ...call.dense.map((mask) => cut(mask, block))]);
  return sum([hidden, biasOf(call, block, { hidden, indices })]);
}

/** Whether the block needs a sink key: not where no sink was learned and every row is known to see a key. */
export function hasSinkKey({ plan, sink, biasIsFinite }: Prepared, block: Block): boolean {
  if (sink || plan.dense.length > 0 || !biasIsFinite) return true;
  let someRowIsEmpty = false;
  eachRowOfPlan(plan, block, (first) => {
    someRowIsEmpty ||= plan.spans[first * 2] === plan.spans[first * 2 + 1]; // the first is empty only if all are
  });
  return someRowIsEmpty;
}

/** -Infinity where the plan's spans hide a pair, else 0: [1 | b, 1 | h, rows, keys]; undefined where they hide none. */
function hiddenBySpans(plan: MaskPlan, block: Block): tf.Tensor4D | undefined {
  const { batch, rows, keys } = block;
  const [planB, planH, , width] = plan.shape;
  const shape: tf.ShapeMap['R4'] = [
    planB === 1 ? 1 : batch[1] - batch[0],
    planH,
    rows[1] - rows[0],
    keys[1] - keys[0],
  ];
  const eachSpan = (visit: (from: number, to: number, row: number) => void) =>
    eachRowOfPlan(plan, block, (first, row) => {
      for (let span = first; span < first + width; span++) {
        visit(plan.spans[span * 2]! - keys[0], plan.spans[span * 2 + 1]! - keys[0], row);
      }
    });
  let visible = 0;
  eachSpan((from, to) => {
    visible += to - from;
  });
  if (visible === tf.util.sizeFromShape(shape)) return undefined;
  return writeTensor<tf.Rank.R4>(shape, (added) => {
    added.fill(-Infinity);
    eachSpan((from, to, row) => {
      if (from < to) added.fill(0, row * shape[3] + from, row * shape[3] + to);
    });
  });
}

/** A bias at a hidden pair never counts, not even NaN, which adding -Infinity would not remove. */
function biasOf(
  { bias, tables, biasIsFinite }: Prepared,
  block: Block,
  { hidden, indices }: { readonly hidden: tf.Tensor4D | undefined; readonly indices: PairIndices },
): tf.Tensor4D | undefined {
  const ofDistance = tables?.bias && cutKeys(lookup(tables.bias.table, indices.bias!, 'neither'), block);
  const total = sum([bias && cut(bias, block), ofDistance]); // [1 | b, 1 | Hq, 1 | rows, 1 | keys]
  const biases = total && representable(total);
  if (!biases || !hidden || biasIsFinite) return biases;
  return tf.where<tf.Tensor4D>(tf.equal(hidden, 0), biases, constant(-Infinity) as tf.Tensor4D);
}

/** 1 for rows whose every key, and the sink, is hidden; else 0. */
function rowsWithoutLogit(
  sink: tf.Tensor4D | undefined,
  terms: tf.Tensor4D | undefined,
  keyCount: number,
): tf.Tensor4D {
  const none = tf.reshape<tf.Rank.R4>(constant(keyCount === 0 ? -Infinity : 0), [1, 1, 1, 1]);
  const largest = terms ? largestOfRows(terms) : none;
  return tf.cast(tf.equal(sink ? tf.maximum(largest, sink) : largest, constant(-Infinity)), 'float32');
}

function withColumn(terms: tf.Tensor4D | undefined, column: tf.Tensor4D, keyCount: number): tf.Tensor4D {
  const [b, h, rows] = [0, 1, 2].map((axis) => Math.max(terms?.shape[axis] ?? 1, column.shape[axis]!)) as [
    number,
    number,
    number,
  ];
  // Adding zeros is the fastest broadcast on wasm.
  const wide: tf.Tensor4D = tf.zeros([b, h, rows, keyCount]);
  const wideColumn: tf.Tensor4D = tf.add(tf.zeros([b, h, rows, 1]), column);
  return tf.concat([terms ? tf.add(wide, terms) : wide, wideColumn], 3);
}

function cut(x: tf.Tensor4D, { batch, heads, rows, keys }: Block): tf.Tensor4D {
  return sliceBox(x, [batch, heads, rows, keys]);
}

/** The columns of the keys, without that of the sink key. */
function cutKeys(x: tf.Tensor4D, { keys }: Block): tf.Tensor4D {
  return sliceBox(x, [fullAxis(x, 0), fullAxis(x, 1), fullAxis(x, 2), [0, keys[1] - keys[0]]]);
}

function sum(terms: readonly (tf.Tensor4D | undefined)[]): tf.Tensor4D | undefined {
  const present = terms.filter((term): term is tf.Tensor4D => term !== undefined);
  return present.length > 0 ? present.reduce((total, term) => tf.add(total, term)) : undefined;
}
