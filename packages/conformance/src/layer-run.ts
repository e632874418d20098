// A layer's results and gradients by name, on the host.
import type { Attention, LayerCall, LayerInputs, LayerResult } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { type Numbers, readAll } from './kernel-run';

/** What a layer gives, but for the name of its kernel. */
export function layerNumbers(layer: Attention, inputs: LayerInputs, call: LayerCall = {}): Promise<Numbers> {
  const { kernel: _, ...results } = layer.apply(inputs, call);
  return readAll(results);
}

/**
 * The outputs of tokens one after another, which the cache of the call keeps: [B, S, outputDim].
 *
 * @param query [B, S, E]
 */
export function tokenByToken(layer: Attention, query: tf.Tensor3D, call: LayerCall): tf.Tensor3D {
  const tokens = tf.split(query, query.shape[1], 1);
  return tf.concat(
    tokens.map((token) => layer.apply({ query: token as tf.Tensor3D }, call).output),
    1,
  );
}

interface LayerLoss {
  readonly inputs: LayerInputs;
  readonly call?: LayerCall;
  /** The loss is Σ result · cotangent, over these results. */
  readonly cotangents: { readonly [result in keyof Omit<LayerResult, 'kernel'>]?: Float64Array };
}

/** The gradient for each input given and for each variable, by name: zeros where the result does not depend on it. */
export function layerGradients(
  layer: Attention,
  { inputs, call = {}, cotangents }: LayerLoss,
): Promise<Numbers> {
  const loss = (taped: LayerInputs) => {
    const results = layer.apply(taped, call);
    const terms = Object.entries(cotangents).map(([name, cotangent]) => {
      const result = results[name as 'output'];
      return tf.sum(tf.mul(result, tf.tensor(Array.from(cotangent), result.shape)));
    });
    return terms.reduce((sum, term) => tf.add(sum, term)) as tf.Scalar;
  };
  const names = Object.keys(inputs);
  const ofInputs = tf.grads((...tensors) =>
    loss(Object.fromEntries(names.map((name, n) => [name, tensors[n]])) as unknown as LayerInputs),
  )(Object.values(inputs) as tf.Tensor[]);
  const { grads } = tf.variableGrads(
    () => loss(inputs),
    layer.variables.map(({ variable }) => variable),
  );
  const ofVariables = layer.variables.map(({ name, variable }) => [
    name,
    grads[variable.name] ?? tf.zerosLike(variable),
  ]);
  return readAll(Object.fromEntries([...names.map((name, n) => [name, ofInputs[n]!]), ...ofVariables]));
}
