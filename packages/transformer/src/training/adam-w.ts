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

/** An optimizer of variables, with a state that can be saved by their names. */
export interface Optimizer {
  /** Steps done. */
  readonly step: number;
  /**
   * Changes the variables that have a gradient.
   *
   * @param gradients by whole names; they are left to the caller
   * @throws ShapeError for names that are not known, and gradients of other shapes; then nothing has changed
   */
  update(gradients: Gradients, learningRate: number): void;
  /** Copies of the moments, as "moment1/block0/attention/query/kernel", and of the `step`: the caller disposes them. */
  getState(): Record<string, tf.Tensor>;
  /**
   * Goes on where another stopped.
   *
   * @throws ShapeError for what is missing, unknown or misshapen; then nothing has changed
   */
  setState(state: { readonly [name: string]: tf.Tensor }): Promise<void>;
  /** Its moments only, not the variables. */
  dispose(): void;
}

/** Decay for matrices alone: gains and biases, which have one axis, keep theirs. */
export function decayMatrices(rate: number): (name: string, shape: readonly number[]) => number {
  return (_, shape) => (shape.length > 1 ? rate : 0);
}

interface Slot {
  readonly variable: tf.Variable;
  readonly decay: number;
  /** Running mean of the gradient, and of its square. */
  readonly moments: readonly [tf.Variable, tf.Variable];
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
  let step = 0;
  return {
    get step() {
      return step;
    },
    update(gradients, learningRate) {
      checkGradients(slots, gradients);
      checkNumber('adamW.update', 'learningRate', learningRate, [(rate) => rate >= 0, 'at least 0']);
      step += 1;
      const corrections = [1 - beta1 ** step, 1 - beta2 ** step] as const;
      for (const [name, gradient] of Object.entries(gradients)) {
        tf.tidy(() => {
          const { variable, decay, moments } = slots.get(name)!;
          const [m, v] = moments;
          m.assign(tf.add(tf.mul(m, beta1), tf.mul(gradient, 1 - beta1)));
          v.assign(tf.add(tf.mul(v, beta2), tf.mul(tf.square(gradient), 1 - beta2)));
          const root = tf.add(tf.sqrt(tf.div(v, corrections[1])), epsilon);
          const change = tf.mul(tf.div(m, root), learningRate / corrections[0]);
          variable.assign(tf.sub(tf.mul(variable, 1 - learningRate * decay), change));
        });
      }
    },
    getState: () => ({
      ...Object.fromEntries(momentsOf(slots).map(([name, moment]) => [name, tf.clone(moment)])),
      step: tf.tensor1d([step]),
    }),
    async setState(state) {
      step = await readState(slots, state);
    },
    dispose() {
      for (const [, moment] of momentsOf(slots)) moment.dispose();
    },
  };
}

function slotOf(variable: tf.Variable, decay: number): Slot {
  const zeros = () => tf.tidy(() => tf.variable(tf.zeros(variable.shape), false));
  return { variable, decay, moments: [zeros(), zeros()] };
}

function momentsOf(slots: ReadonlyMap<string, Slot>): readonly (readonly [string, tf.Variable])[] {
  return [...slots].flatMap(([name, { moments }]) =>
    moments.map((moment, n) => [`moment${n + 1}/${name}`, moment] as const),
  );
}

async function readState(
  slots: ReadonlyMap<string, Slot>,
  state: Readonly<Record<string, tf.Tensor>>,
): Promise<number> {
  const { step: count, ...given } = state;
  const moments = new Map(momentsOf(slots));
  const missing = [...moments.keys(), 'step'].filter((name) => !(name in state));
  const unknown = Object.keys(given).filter((name) => !moments.has(name));
  if (missing.length + unknown.length > 0)
    throw new ShapeError('adamW.setState', 'the state must have the names of the variables', {
      missing,
      unknown,
    });
  for (const [name, moment] of moments) checkShape('adamW.setState', name, [given[name]!, moment]);
  const [step] = await count!.data();
  for (const [name, moment] of moments) moment.assign(given[name]!);
  return step!;
}

function checkGradients(slots: ReadonlyMap<string, Slot>, gradients: Gradients): void {
  const unknown = Object.keys(gradients).filter((name) => !slots.has(name));
  if (unknown.length > 0)
    throw new ShapeError('adamW.update', 'gradients must have names of trainable variables', { unknown });
  for (const [name, gradient] of Object.entries(gradients))
    checkShape('adamW.update', name, [gradient, slots.get(name)!.variable]);
}

function checkShape(
  where: string,
  name: string,
  [tensor, variable]: readonly [tf.Tensor, tf.Variable],
): void {
  if (`${tensor.shape}` === `${variable.shape}`) return;
  throw new ShapeError(where, `${name} must have the shape of its variable`, { came: tensor, variable });
}

function checkOptions(options: AdamWOptions): AdamWOptions {
  const known = ['beta1', 'beta2', 'epsilon', 'weightDecay'] as const;
  const given = normalizeOptions<AdamWOptions>('adamW', 'options', options, known);
  const { beta1 = 0, beta2 = 0, epsilon = 1, weightDecay = 0 } = given;
  for (const [name, beta] of Object.entries({ beta1, beta2 }))
    checkNumber('adamW', name, beta, [(b) => b >= 0 && b < 1, 'at least 0 and below 1']);
  checkNumber('adamW', 'epsilon', epsilon, [(e) => e > 0, 'above 0']);
  if (typeof weightDecay === 'function') return given;
  if (typeof weightDecay === 'number' && weightDecay >= 0 && Number.isFinite(weightDecay)) return given;
  throw new ConfigError('adamW', 'weightDecay must be a number of at least 0, or a function of names', {
    weightDecay,
  });
}
