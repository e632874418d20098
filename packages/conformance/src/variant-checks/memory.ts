// Checks that a layer leaves exactly its results behind, trains without a leak, and is gone when disposed.
import { isAttentionError, type LayerInputs } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { type Check, thrownBy } from '../check';
import { type LayerConfig, layerCase } from '../layer-case';
import { expectFlatHeap, expectSameMemory, heapBytes, memoryNow } from '../memory';
import { returnsOf, rowFor, type Variant } from './suite';

const config: LayerConfig = { embedDim: 6, numHeads: 2 };
const caseOf = (variant: Variant) =>
  layerCase(
    rowFor(variant, { name: '', config, B: 2, Sq: 4, Skv: 5, mask: 'causal', bias: '[1, Hq, Sq, Skv]' }),
  );

export function variantMemoryChecks(variant: Variant): readonly Check[] {
  const { create } = variant;
  return [
    {
      name: 'leaves its inputs alone and adds exactly its results to memory',
      run: () => checkResults(variant),
    },
    { name: 'trains twenty steps without a leak', run: () => checkTraining(variant) },
    {
      name: 'keeps the heap of the backend flat over repeated calls and gradients',
      timeout: 120_000, // hundreds of calls
      run: () => checkHeap(variant),
    },
    {
      name: 'is gone when disposed, once or twice, and says so when used',
      async run() {
        const inputs = caseOf(variant).inputs();
        const before = memoryNow();
        const layer = create(config);
        tf.dispose(layer.apply(inputs));
        layer.dispose();
        layer.dispose();
        expectSameMemory(before);
        for (const use of [() => layer.apply(inputs), () => layer.getWeights()]) {
          const error = await thrownBy(use);
          if (!isAttentionError(error) || !/disposed/.test(error.message)) throw error;
        }
        expectSameMemory(before);
      },
    },
  ];
}

function checkResults(variant: Variant): void {
  const [layer, testCase] = [variant.create(config), caseOf(variant)];
  const [inputs, call] = [testCase.inputs(), testCase.call()];
  const before = memoryNow();
  const { kernel, ...results } = layer.apply(inputs, {
    ...call,
    returns: returnsOf(variant),
  });
  const added = tf.memory().numTensors - before.numTensors;
  const wanted = 1 + returnsOf(variant).length;
  if (added !== wanted) throw new Error(`${kernel} left ${added} tensors, not ${wanted}`);
  for (const [name, tensor] of Object.entries(inputs))
    if (tensor.isDisposed) throw new Error(`${name} was disposed`);
  tf.dispose(results);
  expectSameMemory(before);
  layer.dispose();
}

async function checkTraining(variant: Variant): Promise<void> {
  const [layer, testCase] = [variant.create(config), caseOf(variant)];
  const [inputs, call] = [testCase.inputs(), { ...testCase.call(), training: { seed: 1 } }];
  const optimizer = tf.train.adam(0.01);
  const variables = layer.variables.map(({ variable }) => variable);
  const loss = () => tf.mean(tf.square(layer.apply(inputs, call).output)) as tf.Scalar;
  const step = async () => {
    const value = optimizer.minimize(loss, true, variables)!;
    const [number] = await value.data();
    value.dispose();
    return number!;
  };
  const first = await step(); // the optimizer makes its own variables here
  const before = memoryNow();
  let last = first;
  for (let n = 0; n < 20; n++) last = await step();
  expectSameMemory(before);
  if (!(last < first)) throw new Error(`the loss went from ${first} to ${last}`);
  optimizer.dispose();
  layer.dispose();
}

function checkHeap(variant: Variant): void {
  const [S, E] = heapBytes() > 0 ? [64, 64] : [4, 8]; // so large that a heap would grow
  const layer = variant.create({ embedDim: E, numHeads: 4 });
  const query = tf.randomNormal<tf.Rank.R3>([2, S, E], 0, 1, 'float32', 1);
  const apply = (inputs: LayerInputs) => layer.apply(inputs, { returns: returnsOf(variant) }).output;
  const before = memoryNow();
  expectFlatHeap(() => void apply({ query }), 100);
  expectFlatHeap(() => void tf.grad((x) => tf.sum(apply({ query: x as tf.Tensor3D })))(query), 50);
  expectSameMemory(before);
  layer.dispose();
}
