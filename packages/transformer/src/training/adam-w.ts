// AdamW: Adam whose weight decay does not pass through its moments (Loshchilov & Hutter 2019, arXiv 1711.05101).
import { ConfigError, type NamedVariable, ShapeError } from '@polyhead/core';
import { checkNumber, normalizeOptions } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import type { Gradients } from './gradients';

/** Options of `adamW`. */
export interface AdamWOptions {
  /** Share of the old mean of gradients. Default: 0.9. */
  readonly beta1?: number | undefined;
  /** Share of the old mean of squared gradients. Default: 0.999. */
  readonly beta2?: number | undefined;
  /** Added to the root of the mean square. Default: 1e-8. */
  readonly epsilon?: number | undefined;
  /** Share of a variable that a step takes away, times the learning rate; a number, or one for each name. Default: 0.01. */
  readonly weightDecay?: number | ((name: string, shape: readonly number[]) => number) | undefined;
}

/** An optimizer of variables, whose state are variables with their names. */
export interface Optimizer {
  /**
   * Its state: "adamW/step", and two moments of each variable, such as "adamW/moment1/block0/norm/gain". Saved and loaded with
   * those of the model, training goes on as if it had not stopped.
   */
  readonly variables: readonly NamedVariable[];
  /**
   * Changes the variables that have a gradient.
   *
   * @param gradients by whole names; they are left to the caller
   * @throws ShapeError for names that are not known, and gradients of other shapes; then nothing has changed
   */
  update(gradients: Gradients, learningRate: number): void;
  /** Its own state only, not the variables of the model. */
  dispose(): void;
}

/** Decay for matrices alone: gains and biases, which have one axis, keep theirs. */
export function decayMatrices(rate: number): (name: string, shape: readonly number[]) => number {
  return (_, shape) => (shape.length > 1 ? rate : 0);
}

interface Slot {
  readonly variable: tf.Variable;
  readonly decay: number;
  /** Running mean of the gradient. */
  readonly moment1: tf.Variable;
  /** Running mean of its square. */
  readonly moment2: tf.Variable;
}

/**
 * With m and v the running means of gradient g and g^2, divided by 1 - beta^step:
 * x - rate (m / (sqrt(v) + epsilon) + decay x).
 *
 * @param variables such as `model.variables`; those that are not trainable are left out
 * @throws ConfigError for options out of bounds
 * @example
 * const optimizer = adamW(model.variables, { weightDecay: decayMatrices(0.1) });
 * const { loss, gradients } = gradientsOf(() => crossEntropy(model.apply(ids).logits, targets), model.variables);
 * optimizer.update(gradients, 3e-4);
 */
export function adamW(variables: readonly NamedVariable[], options: AdamWOptions = {}): Optimizer {
  const { beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weightDecay = 0.01 } = checkOptions(options);
  const decayOf = typeof weightDecay === 'function' ? weightDecay : () => weightDecay;
  const slots = new Map(
    variables
      .filter(({ variable }) => variable.trainable)
      .map(({ name, variable }) => [name, slotOf(variable, decayOf(name, variable.shape))] as const),
  );
  const step = tf.tidy(() => tf.variable(tf.zeros([1]), false));
  const own = [
    { name: 'adamW/step', variable: step },
    ...[...slots].flatMap(([name, { moment1, moment2 }]) => [
      { name: `adamW/moment1/${name}`, variable: moment1 },
      { name: `adamW/moment2/${name}`, variable: moment2 },
    ]),
  ];
  return {
    variables: own,
    update(gradients, learningRate) {
      checkGradients(slots, gradients);
      checkNumber('adamW.update', 'learningRate', learningRate, [(rate) => rate >= 0, 'at least 0']);
      tf.tidy(() => {
        step.assign(tf.add(step, 1));
        // 1 - beta^step, without the digits that the difference would lose.
        const corrections = [beta1, beta2].map((beta) => tf.neg(tf.expm1(tf.mul(step, Math.log(beta)))));
        for (const [name, gradient] of Object.entries(gradients)) {
          const { variable, decay, moment1, moment2 } = slots.get(name)!;
          const mean = tf.add(tf.mul(moment1, beta1), tf.mul(gradient, 1 - beta1));
          const square = tf.add(tf.mul(moment2, beta2), tf.mul(tf.square(gradient), 1 - beta2));
          const root = tf.add(tf.sqrt(tf.div(square, corrections[1]!)), epsilon);
          const change = tf.div(tf.div(mean, corrections[0]!), root);
          moment1.assign(mean);
          moment2.assign(square);
          variable.assign(tf.sub(tf.mul(variable, 1 - learningRate * decay), tf.mul(change, learningRate)));
        }
      });
    },
    dispose() {
      for (const { variable } of own) variable.dispose();
    },
  };
}

function slotOf(variable: tf.Variable, decay: number): Slot {
  const zeros = () => tf.tidy(() => tf.variable(tf.zeros(variable.shape), false));
  return { variable, decay, moment1: zeros(), moment2: zeros() };
}

function checkGradients(slots: ReadonlyMap<string, Slot>, gradients: Gradients): void {
  const unknown = Object.keys(gradients).filter((name) => !slots.has(name));
  if (unknown.length > 0)
    throw new ShapeError('adamW.update', 'gradients must have names of trainable variables', { unknown });
  for (const [name, gradient] of Object.entries(gradients)) {
    const { variable } = slots.get(name)!;
    if (`${gradient.shape}` === `${variable.shape}`) continue;
    throw new ShapeError('adamW.update', `${name} must have the shape of its variable`, {
      gradient,
      variable,
    });
  }
}

function checkOptions(options: AdamWOptions): AdamWOptions {
  const known = ['beta1', 'beta2', 'epsilon', 'weightDecay'] as const;
  const checked = normalizeOptions<AdamWOptions>('adamW', 'options', options, known);
  const { beta1 = 0, beta2 = 0, epsilon = 1, weightDecay = 0 } = checked;
  for (const [name, beta] of Object.entries({ beta1, beta2 }))
    checkNumber('adamW', name, beta, [(b) => b >= 0 && b < 1, 'at least 0 and below 1']);
  checkNumber('adamW', 'epsilon', epsilon, [(e) => e > 0, 'above 0']);
  if (typeof weightDecay === 'function') return checked;
  if (typeof weightDecay === 'number' && weightDecay >= 0 && Number.isFinite(weightDecay)) return checked;
  throw new ConfigError('adamW', 'weightDecay must be a number of at least 0, or a function of names', {
    weightDecay,
  });
}
