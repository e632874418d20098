// Cases that need a layer: small inputs from public bug reports, with answers known by heart.
import { expectNumbers, numbersOf, randomTensor, seededRandom, toTensor } from '@polyhead/conformance';
import {
  allOf,
  causal,
  dense,
  type LayerCall,
  type LayerInputs,
  slidingWindow,
  validLengths,
} from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { MultiHeadAttention, type MultiHeadConfig } from './index';

const random = (shape: number[], seed: number) =>
  toTensor(randomTensor(shape, seededRandom(seed))) as tf.Tensor3D;

/** Every projection the identity: heads are slices of the inputs. */
function identityLayer(config: MultiHeadConfig): MultiHeadAttention {
  const layer = new MultiHeadAttention(config);
  const kernels = Object.entries(layer.getWeights()).map(([name, x]) => [
    name,
    tf.eye(x.shape[0]!, x.shape[1]!),
  ]);
  layer.setWeights(Object.fromEntries(kernels));
  return layer;
}

function variableGradients(layer: MultiHeadAttention, loss: () => tf.Scalar): number[][] {
  const { grads } = tf.variableGrads(
    loss,
    layer.variables.map(({ variable }) => variable),
  );
  return layer.variables.map(({ variable }) => numbersOf(grads[variable.name]!));
}

const closeTo = (numbers: readonly number[]) => numbers.map((x) => expect.closeTo(x, 4));

describe("A2: the parameters' gradient of a loss that leaves out a row that sees nothing", () => {
  it('is finite, and that of the sequence without the row', () => {
    const layer = new MultiHeadAttention({ embedDim: 6, numHeads: 2, useBias: true, seed: 1 });
    const [query, key] = [random([1, 2, 6], 1), random([1, 3, 6], 2)];
    const hidden = dense(
      tf.tensor2d(
        [
          [0, 0, 0],
          [1, 1, 0],
        ],
        [2, 3],
        'bool',
      ),
    );
    const shown = dense(tf.tensor2d([[1, 1, 0]], [1, 3], 'bool'));
    const rowOne = (x: tf.Tensor3D): tf.Tensor3D => tf.slice(x, [0, 1, 0], [-1, 1, -1]);
    const loss = (output: tf.Tensor3D) => tf.sum(tf.square(output)) as tf.Scalar;
    const whole = variableGradients(layer, () =>
      loss(rowOne(layer.apply({ query, key }, { mask: hidden }).output)),
    );
    const alone = variableGradients(layer, () =>
      loss(layer.apply({ query: rowOne(query), key }, { mask: shown }).output),
    );
    expect(whole.flat().every(Number.isFinite)).toBe(true);
    expect(whole).toEqual(alone.map(closeTo));
    expect(whole.flat().some((x) => x !== 0)).toBe(true);
  });
});

describe('A3: returning weights', () => {
  it('does not change the output, rows that see nothing included', () => {
    const layer = new MultiHeadAttention({ embedDim: 6, numHeads: 2, useBias: true, dropout: 0, seed: 1 });
    const query = random([2, 4, 6], 3);
    for (const call of [{}, { training: { seed: 1 } }]) {
      const mask = validLengths([0, 3]);
      const plain = layer.apply({ query }, { ...call, mask });
      const withWeights = layer.apply({ query }, { ...call, mask, returns: ['weights'] });
      expect(numbersOf(withWeights.output)).toEqual(numbersOf(plain.output));
    }
  });

  it('gives the bias of the output projection for a row that sees nothing', () => {
    const layer = new MultiHeadAttention({ embedDim: 2, numHeads: 1, useBias: true, seed: 1 });
    layer.setWeights({ ...layer.getWeights(), 'output/bias': tf.tensor1d([3, 4]) });
    expectNumbers(
      layer.apply({ query: random([1, 2, 2], 1) }, { mask: validLengths([0]) }).output,
      [3, 4, 3, 4],
    );
  });
});

describe('a causal layer', () => {
  const layer = () => new MultiHeadAttention({ embedDim: 6, numHeads: 3, dropout: 0.5, seed: 2 });

  it.each<LayerCall>([{}, { returns: ['weights', 'logSumExp', 'headOutputs'] }, { training: { seed: 4 } }])(
    'A18: never sees a later token, with %o',
    (call) => {
      const query = random([2, 5, 6], 5);
      const later = tf.concat(
        [tf.slice(query, [0, 0, 0], [-1, 3, -1]), random([2, 2, 6], 6)],
        1,
      ) as tf.Tensor3D;
      const beside = dense(tf.ones([5, 5], 'bool'));
      for (const mask of [causal(), allOf(causal(), beside)]) {
        const [one, other] = [query, later].map((x) => {
          const used = layer();
          return numbersOf(
            tf.slice(used.apply({ query: x }, { ...call, mask }).output, [0, 0, 0], [-1, 3, -1]),
          );
        });
        expect(one).toEqual(other);
      }
    },
  );

  it('B4: gives the last token alone what it gives it among others', () => {
    const used = layer();
    const tokens = random([1, 7, 6], 7);
    const last: tf.Tensor3D = tf.slice(tokens, [0, 6, 0], [-1, 1, -1]);
    const among = used.apply({ query: tokens }, { mask: causal() }).output;
    const alone = used.apply({ query: last, key: tokens }, { mask: causal() }).output;
    expectNumbers(alone, numbersOf(tf.slice(among, [0, 6, 0], [-1, 1, -1])));
  });

  it('I5: keeps its window without another mask', () => {
    const used = identityLayer({ embedDim: 1, numHeads: 1, scale: 0 });
    const query = tf.tensor3d([1, 2, 3, 4], [1, 4, 1]);
    expectNumbers(
      used.apply({ query }, { mask: slidingWindow({ left: 1, right: 0 }) }).output,
      [1, 1.5, 2.5, 3.5],
    );
  });
});

describe('scale of a layer 16 wide with 4 heads', () => {
  const weightsOf = (scale?: number) => {
    const layer = identityLayer({ embedDim: 16, numHeads: 4, ...(scale !== undefined && { scale }) });
    const query: tf.Tensor3D = tf.mul(tf.oneHot(tf.tensor2d([[0]], [1, 1], 'int32'), 16), 2);
    const key = tf.concat([query, tf.zeros([1, 1, 16])], 1) as tf.Tensor3D;
    const { weights } = layer.apply({ query, key }, { returns: ['weights'] });
    return tf.slice(weights!, [0, 0, 0, 0], [1, 1, 1, 2]);
  };

  it('C1: goes by the head size', () => expectNumbers(weightsOf(), [0.8807971, 0.1192029]));
  it('C2: may be 1', () => expectNumbers(weightsOf(1), [0.9820138, 0.0179862]));
  it('C3: may be 0', () => expectNumbers(weightsOf(0), [0.5, 0.5]));
});

describe('C6: value heads of another size', () => {
  it('give heads of that size, and the output its width', () => {
    const layer = new MultiHeadAttention({ embedDim: 4, numHeads: 2, headDim: 2, valueHeadDim: 3 });
    const { output, headOutputs } = layer.apply({ query: tf.ones([1, 5, 4]) }, { returns: ['headOutputs'] });
    expect(headOutputs!.shape).toEqual([1, 2, 5, 3]);
    expect(output.shape).toEqual([1, 5, 4]);
  });
});

describe('dropout', () => {
  const query = () => random([2, 4, 6], 8);

  it('L1: is off outside of training, and the layer that of rate 0', () => {
    const [dropping, plain] = [0.5, 0].map(
      (dropout) => new MultiHeadAttention({ embedDim: 6, numHeads: 2, dropout, seed: 3 }),
    );
    const output = numbersOf(dropping!.apply({ query: query() }).output);
    expect(numbersOf(dropping!.apply({ query: query() }).output)).toEqual(output);
    expect(numbersOf(plain!.apply({ query: query() }).output)).toEqual(output);
    expect(numbersOf(dropping!.apply({ query: query() }, { training: { seed: 1 } }).output)).not.toEqual(
      output,
    );
  });

  it.each([1, -0.1, 1.5, Number.NaN])('L3: has no rate of %d', (dropout) => {
    expect(() => new MultiHeadAttention({ embedDim: 6, numHeads: 2, dropout })).toThrow(/dropout/);
  });
});

describe('L4: weights', () => {
  // Head 0 sees one key twice as near as e^-100, head 1 sees both alike.
  const layer = () => identityLayer({ embedDim: 2, numHeads: 2, scale: 1 });
  const inputs = (): LayerInputs => ({
    query: tf.tensor3d([100, 0], [1, 1, 2]),
    key: tf.tensor3d([1, 0, 0, 0], [1, 2, 2]),
  });

  it('are [B, H, Sq, Skv]; the average over heads is one line', () => {
    const weights = layer().apply(inputs(), { returns: ['weights'] }).weights!;
    expect(weights.shape).toEqual([1, 2, 1, 2]);
    expectNumbers(weights, [1, 0, 0.5, 0.5]);
    expectNumbers(tf.mean(weights, 1), [0.75, 0.25]);
  });

  it('are those before dropout', () => {
    const dropping = identityLayer({ embedDim: 2, numHeads: 2, scale: 1, dropout: 0.5 });
    const { weights } = dropping.apply(inputs(), { returns: ['weights'], training: { seed: 2 } });
    expectNumbers(weights!, [1, 0, 0.5, 0.5]);
  });
});

describe('configs', () => {
  it('L6: are plain JSON without masks, and rebuild the layer', () => {
    const layer = new MultiHeadAttention({ embedDim: 6, numHeads: 2, headDim: 5, useBias: true, softcap: 2 });
    const query = random([2, 3, 6], 9);
    const mask = dense(tf.ones([3, 3], 'bool'));
    const output = numbersOf(layer.apply({ query }, { mask }).output);
    const stored = JSON.stringify(layer.config);
    expect(JSON.parse(stored)).toEqual({ embedDim: 6, numHeads: 2, headDim: 5, useBias: true, softcap: 2 });
    const rebuilt = new MultiHeadAttention(JSON.parse(stored));
    rebuilt.setWeights(layer.getWeights());
    expect(numbersOf(rebuilt.apply({ query }, { mask }).output)).toEqual(output);
  });

  it('L7: whose width does not divide by the heads need a head size', () => {
    expect(() => new MultiHeadAttention({ embedDim: 10, numHeads: 4 })).toThrow(
      /embedDim +10\n +numHeads +4/,
    );
    expect(
      new MultiHeadAttention({ embedDim: 10, numHeads: 4, headDim: 3 }).apply({ query: tf.ones([1, 2, 10]) })
        .output.shape,
    ).toEqual([1, 2, 10]);
  });
});
