// Wrong answers are not timed: a layer with a position method is compared with its definition in doubles, and a step of
// decoding with one pass.
import { type HostTensor, layerOracle } from '@polyhead/conformance/oracle';
import { causal } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { WrongResultError } from '../command-line/errors';
import { allowedError, relativeError } from '../measure/relative-error';
import type { PositionedLayer } from '../positions/methods';

/** Few, since a definition in plain loops projects every distance anew. */
const tokens = 8;
const mask = causal();

/**
 * @returns the largest difference to doubles, as a share of the largest number
 * @throws WrongResultError where float32 does not explain it
 */
export function checkPositioned({ name, shape, attention, method }: PositionedLayer): number {
  const query = tf.randomNormal<tf.Rank.R3>([1, tokens, shape.embedDim], 0, 1, 'float32', tokens);
  const expected = layerOracle({
    config: attention.config,
    weights: Object.fromEntries(attention.variables.map((v) => [v.name, onHost(v.variable)])),
    query: onHost(query),
    isVisible: (_b, _h, i, j) => j <= i,
    ...(method && { position: method.oracle }),
  });
  const actual = tf.tidy(() => attention.apply({ query }, { mask }).output.dataSync());
  query.dispose();
  return checkedError(`${name}, ${tokens} tokens against doubles`, actual, expected.output);
}

/** @throws WrongResultError where there is more between the two than float32 explains */
export function checkedError(what: string, actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  const error = relativeError(actual, expected);
  if (error <= allowedError) return error;
  throw new WrongResultError(
    `${what}: the output is off by ${error.toExponential(1)} of its largest number, more than ` +
      `${allowedError.toExponential(0)}; a wrong answer is not timed`,
  );
}

const onHost = (tensor: tf.Tensor): HostTensor => ({
  shape: tensor.shape,
  data: Float64Array.from(tensor.dataSync()),
});
