// Wrong answers are not timed: a whole layer, positions included, compared with its definition in doubles, and its gradients
// with the differences of a loss in doubles. Of few tokens, since plain loops take long.
import type { HostTensor, LayerOracle, PositionOracle } from '@polyhead/conformance/oracle';
import type { Attention, AttentionKernel } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { WrongResultError } from '../command-line/errors';
import { mask, trainingStep } from '../matrix/phases';
import { noise } from '../measure/noise';
import { allowedError, relativeError } from '../measure/relative-error';

export interface WholeLayer {
  /** For messages. */
  readonly what: string;
  readonly attention: Attention;
  readonly kernel: AttentionKernel;
  readonly oracle: LayerOracle;
  /** Of its position method. */
  readonly position?: PositionOracle | undefined;
}

/** A definition in plain loops projects every distance anew. */
const fewTokens = 8;
/** Of differences in doubles: rounding and curvature are far below float32. */
const step = 1e-5;

/**
 * @returns the largest difference to doubles, as a share of the largest number
 * @throws WrongResultError where float32 does not explain it
 */
export function checkWholeLayer(layer: WholeLayer): number {
  const query = fewQueries(layer);
  const actual = tf.tidy(
    () => layer.attention.apply({ query }, { mask, kernel: layer.kernel }).output.dataSync() as Float32Array,
  );
  const expected = outputInDoubles(layer, query, weightsOnHost(layer));
  query.dispose();
  return checkedError(`${layer.what}, ${fewTokens} tokens against doubles`, actual, expected);
}

/**
 * The derivative of the loss along a direction through all variables: by differences of the loss in doubles, and by the
 * gradients that are computed.
 *
 * @returns their difference, as a share of the length of the gradient
 * @throws WrongResultError where float32 does not explain it
 */
export function checkGradients(layer: WholeLayer): number {
  const query = fewQueries(layer);
  const weights = weightsOnHost(layer);
  const gradients = tf.tidy(() => {
    const { gradients: byName } = trainingStep({ ...layer, query });
    return layer.attention.variables.map(({ name, variable }) => ({
      name,
      gradient: byName[variable.name]!.dataSync() as Float32Array,
    }));
  });
  const direction = Object.fromEntries(
    gradients.map(({ name, gradient }, n) => [name, noise(gradient.length, { seed: 17 + n })]),
  );
  const lossAt = (t: number) => {
    const moved = Object.entries(weights).map(([name, { shape, data }]) => [
      name,
      { shape, data: data.map((w, n) => w + t * direction[name]![n]!) },
    ]);
    const output = outputInDoubles(layer, query, Object.fromEntries(moved));
    return output.reduce((sum, x) => sum + (x * x) / 2, 0);
  };
  const expected = (lossAt(step) - lossAt(-step)) / (2 * step);
  query.dispose();
  let [actual, squares] = [0, 0];
  for (const { name, gradient } of gradients) {
    for (const [n, g] of gradient.entries()) {
      actual += g * direction[name]![n]!;
      squares += g * g;
    }
  }
  const length = Math.sqrt(squares);
  return checkedError(
    `${layer.what}, gradients against differences in doubles`,
    [actual / length, 1],
    [expected / length, 1],
  );
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

function fewQueries({ attention }: WholeLayer): tf.Tensor3D {
  const { embedDim } = attention.config as { readonly embedDim: number };
  return tf.randomNormal<tf.Rank.R3>([1, fewTokens, embedDim], 0, 1, 'float32', fewTokens);
}

type Weights = Readonly<Record<string, HostTensor>>;

function outputInDoubles({ attention, oracle, position }: WholeLayer, query: tf.Tensor, weights: Weights) {
  return oracle({
    config: attention.config as Parameters<LayerOracle>[0]['config'],
    weights,
    query: onHost(query),
    isVisible: (_b, _h, i, j) => j <= i,
    ...(position && { position }),
  }).output;
}

const weightsOnHost = ({ attention }: WholeLayer): Weights =>
  Object.fromEntries(attention.variables.map(({ name, variable }) => [name, onHost(variable)]));

const onHost = (tensor: tf.Tensor): HostTensor => ({
  shape: tensor.shape,
  data: Float64Array.from(tensor.dataSync()),
});
