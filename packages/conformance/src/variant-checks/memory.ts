// Checks that a layer leaves exactly its results behind, trains without a leak, and is gone when disposed.
import { type Attention, isAttentionError, type LayerInputs } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { type Check, thrownBy } from '../check';
import { type LayerConfig, layerCase } from '../layer-case';
import { expectFlatHeap, expectSameMemory, memoryNow } from '../memory';
import type { Variant } from './suite';

const config: LayerConfig = { embedDim: 6, numHeads: 2 };
const row = {
  name: '',
  config,
  B: 2,
  Sq: 4,
  Skv: 5,
  mask: 'causal' as const,
  bias: '[1, Hq, Sq, Skv]' as const,
};

export function variantMemoryChecks({ create }: Variant): readonly Check[] {
  return [
    {
      name: 'leaves its inputs alone and adds exactly its results to memory',
      run: () => checkResults(create(config)),
    },
    { name: 'trains twenty steps without a leak', run: () => checkTraining(create(config)) },
    {
      name: 'keeps the heap of the backend flat over repeated calls and gradients',
      run: () => checkHeap(create({ embedDim: 64, numHeads: 4 })),
    },
    {
      name: 'is gone when disposed, once or twice, and says so when used',
      async run() {
        const inputs = layerCase(row).inputs();
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

function checkResults(layer: Attention): void {
  const found = layerCase(row);
  const [inputs, call] = [found.inputs(), found.call()];
  const before = memoryNow();
  const { kernel, ...results } = layer.apply(inputs, {
    ...call,
    returns: ['weights', 'logSumExp', 'headOutputs'],
  });
  const added = tf.memory().numTensors - before.numTensors;
  if (added !== 4) throw new Error(`${kernel} left ${added} tensors, not 4`);
  for (const [name, tensor] of Object.entries(inputs))
    if (tensor.isDisposed) throw new Error(`${name} was disposed`);
  tf.dispose(results);
  expectSameMemory(before);
  layer.dispose();
}

async function checkTraining(layer: Attention): Promise<void> {
  const found = layerCase(row);
  const [inputs, call] = [found.inputs(), { ...found.call(), training: { seed: 1 } }];
  const optimizer = tf.train.adam(0.01);
  const variables = layer.variables.map(({ variable }) => variable);
  const loss = () => tf.mean(tf.square(layer.apply(inputs, call).output)) as tf.Scalar;
  const step = async () => {
    const found = optimizer.minimize(loss, true, variables)!;
    const [number] = await found.data();
    found.dispose();
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

function checkHeap(layer: Attention): void {
  const query = tf.randomNormal<tf.Rank.R3>([2, 64, 64], 0, 1, 'float32', 1);
  const apply = (inputs: LayerInputs) => layer.apply(inputs, { returns: ['weights'] }).output;
  const before = memoryNow();
  expectFlatHeap(() => void apply({ query }), 100);
  expectFlatHeap(() => void tf.grad((x) => tf.sum(apply({ query: x as tf.Tensor3D })))(query), 50);
  expectSameMemory(before);
  layer.dispose();
}
