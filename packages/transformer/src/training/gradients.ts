// Gradients of a loss by the whole names of variables, and their norm.
import { ConfigError, type NamedVariable } from '@polyhead/core';
import { checkNumber } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';

/** Gradients by the whole names of their variables. */
export type Gradients = { readonly [name: string]: tf.Tensor };

/**
 * The loss, and its gradient for each variable that is trainable and that it depends on.
 *
 * @param loss gives a scalar
 * @param variables such as `model.variables`
 * @returns tensors that the caller disposes
 * @throws ConfigError where no variable is trainable
 */
export function gradientsOf(
  loss: () => tf.Scalar,
  variables: readonly NamedVariable[],
): { readonly loss: tf.Scalar; readonly gradients: Gradients } {
  const trained = variables.filter(({ variable }) => variable.trainable);
  if (trained.length === 0)
    throw new ConfigError('gradientsOf', 'at least one variable must be trainable', {
      variables: variables.map(({ name }) => name),
    });
  const { value, grads } = tf.variableGrads(
    loss,
    trained.map(({ variable }) => variable),
  );
  // tfjs knows variables by names of its own.
  const named = trained.flatMap(({ name, variable }) => {
    const gradient = grads[variable.name];
    return gradient ? [[name, gradient] as const] : [];
  });
  return { loss: value, gradients: Object.fromEntries(named) };
}

/**
 * Gradients of which the norm of all together is at most `maxNorm`: all are multiplied by maxNorm / max(norm, maxNorm) (Pascanu
 * et al. 2013, arXiv 1211.5063).
 *
 * @returns new tensors, and the norm before as a scalar: nobody has to wait for it. The caller disposes them
 */
export function clipGradients(
  gradients: Gradients,
  maxNorm: number,
): { readonly gradients: Gradients; readonly norm: tf.Scalar } {
  checkNumber('clipGradients', 'maxNorm', maxNorm, [(n) => n > 0, 'above 0']);
  return tf.tidy(() => {
    const squares = Object.values(gradients).map((gradient) => tf.sum(tf.square(gradient)));
    const norm = tf.sqrt(tf.addN(squares)) as tf.Scalar;
    const scale = tf.div(maxNorm, tf.maximum(norm, maxNorm));
    const clipped = Object.entries(gradients).map(([name, gradient]) => [name, tf.mul(gradient, scale)]);
    return { gradients: Object.fromEntries(clipped) as Record<string, tf.Tensor>, norm };
  });
}
