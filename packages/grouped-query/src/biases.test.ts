// Biases of some projections, as Qwen2 has them, against the definition in doubles.
import {
  expectClose,
  type HostTensor,
  layerOracle,
  numbersOf,
  randomTensor,
  seededRandom,
  toHost,
  toTensor,
} from '@polyhead/conformance';
import { type AttentionConfig, fromConfig } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { GroupedQueryAttention } from './index';

const sizes = { embedDim: 6, numHeads: 4, numKeyValueHeads: 2, headDim: 3, seed: 1 };

/** A layer with random numbers in every variable, and what its definition needs. */
function layerOf(options: Partial<AttentionConfig>) {
  const layer = new GroupedQueryAttention({ ...sizes, ...options });
  const random = seededRandom(7);
  const weights = Object.fromEntries(
    layer.variables.map(({ name, variable }) => [name, randomTensor(variable.shape, random)]),
  ) as { [name: string]: HostTensor };
  for (const { name, variable } of layer.variables) variable.assign(toTensor(weights[name]!));
  return { layer, weights, query: randomTensor([2, 5, 6], random) };
}

const cases: readonly (readonly [Partial<AttentionConfig>, readonly string[]])[] = [
  [{ useBias: ['query', 'key', 'value'] }, ['query/bias', 'key/bias', 'value/bias']], // Qwen2
  [{ useBias: ['output'] }, ['output/bias']],
  [{ useBias: [] }, []],
  [{ useBias: ['value', 'gate'], outputGate: 'head' }, ['value/bias', 'gate/bias']],
  [{ useBias: true }, ['query/bias', 'key/bias', 'value/bias', 'output/bias']],
];

describe.each(cases)('a layer with %j', (options, biases) => {
  it('has these biases, and gives what its definition gives', () => {
    const { layer, weights, query } = layerOf(options);
    expect(Object.keys(weights).filter((name) => name.endsWith('/bias'))).toEqual(biases);
    const { output, maxAbsScore } = layerOracle({ config: layer.config, weights, query });
    expectClose({
      actual: { output: toHost(layer.apply({ query: toTensor(query) }).output) },
      expected: { output },
      maxAbsScore,
    });
    const again = fromConfig<GroupedQueryAttention>(JSON.parse(JSON.stringify(layer)), [
      GroupedQueryAttention,
    ]);
    expect(Object.keys(again.getWeights())).toEqual(Object.keys(weights));
    layer.dispose();
    again.dispose();
  });

  it('has the gradients of its definition in them', () => {
    const { layer, weights, query } = layerOf(options);
    const x = toTensor(query);
    const { grads } = tf.variableGrads(
      () => tf.sum(tf.square(layer.apply({ query: x }).output)) as tf.Scalar,
    );
    const loss = () =>
      layerOracle({ config: layer.config, weights, query }).output.reduce((sum, y) => sum + y * y, 0);
    const tolerance = 1e-5 * Math.max(1, loss()); // gradients of a key's bias are 0: differences of larger numbers
    for (const name of biases) {
      const { data } = weights[name]! as { data: Float64Array };
      const gradient = numbersOf(grads[layer.variables.find((named) => named.name === name)!.variable.name]!);
      data.forEach((number, n) => {
        const [above, below] = [1e-4, -1e-4].map((step) => {
          data[n] = number + step;
          return loss();
        });
        data[n] = number;
        const expected = (above! - below!) / 2e-4;
        expect(Math.abs(gradient[n]! - expected)).toBeLessThan(tolerance + 1e-3 * Math.abs(expected));
      });
    }
    layer.dispose();
  });
});
