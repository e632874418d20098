// A cell against doubles, before it is timed.
import { composed, type LayerResult } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { type RowsOfCache, rowsShown } from '../axes/caches';
import type { ComparedLayer } from '../axes/layers';
import { WrongResultError } from '../command-line/errors';
import { evenlySpread } from '../measure/evenly-spread';
import { relativeError } from '../measure/relative-error';
import { checkLayer } from '../oracle/layer-check';
import { checkedError, checkGradients, checkWholeLayer, type WholeLayer } from '../oracle/whole-layer-check';
import { mask, outputOf, trainingStep } from './phases';
import { placeOf } from './result';
import type { Setup } from './workbench';

export interface CheckedCell {
  /** The name of the kernel that ran. */
  readonly ran: string;
  /** Largest difference to doubles, as a share of the largest number. */
  readonly error: number;
  /** How far numbers that a cache keeps are from those that it was given, as a share of the largest. */
  readonly storageError?: number | undefined;
}

/** @throws WrongResultError where float32 does not explain a difference */
export function checkCell(setup: Setup): CheckedCell {
  if (setup.cell.phase === 'training') return checkTraining(setup);
  return setup.position ? checkPositioned(setup) : checkSampled(setup);
}

/** Some heads, rows and columns of the call itself. */
function checkSampled({ cell, call, variant, shape, cacheKind, rows }: Setup): CheckedCell {
  const { attention, kernel, query, cache } = call;
  return tf.tidy(() => {
    let result: LayerResult | undefined;
    const apply = () => {
      result = attention.apply(
        { query },
        { mask, kernel, returns: ['headOutputs'], ...(cache && { cache }) },
      );
    };
    const stored = cacheKind?.isLossy && cache && rowsShown(cache, apply);
    if (!stored) apply();
    const sampled = variant.sample(attention, sampledPart(shape));
    const checked = {
      what: placeOf(cell),
      query,
      ...(rows && { cached: rows }),
      ...(stored && { stored }),
    };
    const error = checkLayer(sampled, checked, result!);
    const storageError = stored && rows && storageErrorOf(stored, rows, cache!.shape.heads);
    return { ran: result!.kernel, error, storageError };
  });
}

/** Heads and columns of a layer that are computed in doubles. */
const sampledPart = ({ config }: ComparedLayer) => ({
  heads: evenlySpread(3, config.numHeads),
  columns: evenlySpread(64, config.embedDim),
});

/** Rows [Hkv, tokens, D], of which the stored ones have one token more: those of head 0. */
function storageErrorOf(stored: RowsOfCache, exactRows: RowsOfCache, heads: number): number {
  const errorOf = (name: 'key' | 'value') => {
    const [kept, exact] = [stored, exactRows].map((rows) => rows.entry(0)[name]) as [
      Float32Array,
      Float32Array,
    ];
    const ofHead = exact.length / heads;
    return relativeError(kept.subarray(0, ofHead), exact.subarray(0, ofHead));
  };
  return Math.max(errorOf('key'), errorOf('value'));
}

/** With few tokens in doubles; then the call itself, by one pass with `composed`. */
function checkPositioned(setup: Setup): CheckedCell {
  const { cell, call } = setup;
  const few = checkWholeLayer(wholeLayer(setup));
  return tf.tidy(() => {
    const result = call.attention.apply(
      { query: call.query },
      { mask, kernel: call.kernel, ...(call.cache && { cache: call.cache }) },
    );
    const onePass = onePassOf(setup);
    const all = checkedError(`${placeOf(cell)} against one pass`, result.output.dataSync(), onePass);
    return { ran: result.kernel, error: Math.max(few, all) };
  });
}

/** What a call must give, without a cache and by other operations. */
function onePassOf({ cell, call }: Setup): Float32Array {
  const { cache: _, ...without } = call;
  const [batch, added, width] = call.query.shape;
  const before = cell.tokens - added;
  const prompt =
    before > 0 ? [tf.randomNormal<tf.Rank.R3>([batch, before, width], 0, 1, 'float32', before)] : [];
  const query = tf.concat([...prompt, call.query], 1);
  const output = outputOf({ ...without, kernel: composed(), query });
  return tf.slice(output, [0, before, 0], [batch, added, -1]).dataSync<'float32'>();
}

/** Gradients along a direction in doubles, of few tokens; then the loss of the call itself, by `composed`. */
function checkTraining(setup: Setup): CheckedCell {
  const { cell, call } = setup;
  const few = checkGradients(wholeLayer(setup));
  return tf.tidy(() => {
    const { kernel: ran } = call.attention.apply({ query: call.query }, { mask, kernel: call.kernel });
    const [ours, plain] = [call, { ...call, kernel: composed() }].map(trainingStep);
    // All variables at once: the gradient of a bias of keys, which softmax does not see, is rounding alone.
    const joined = ({ gradients }: ReturnType<typeof trainingStep>) =>
      tf.concat(Object.values(gradients).map((gradient) => gradient.flatten())).dataSync();
    const all = relativeError(joined(ours!), joined(plain!));
    if (!(all <= mostBetweenKernels)) {
      throw new WrongResultError(
        `${placeOf(cell)}: gradients differ by ${all.toExponential(1)} from those of composed; a wrong answer is not timed`,
      );
    }
    return { ran, error: few };
  });
}

/** Gradients of sums over all tokens, in two orders of float32 summation. */
const mostBetweenKernels = 1e-4;

const wholeLayer = ({ cell, call, variant, position }: Setup): WholeLayer => ({
  what: placeOf(cell),
  attention: call.attention,
  kernel: call.kernel,
  oracle: variant.oracle,
  position: position?.oracle,
});
