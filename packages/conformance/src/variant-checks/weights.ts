// Checks of a layer's variables: how they start, how they are read and set, and that a config rebuilds the layer.
import { type Attention, composed, fromConfig, isAttentionError, type Kind } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { type Check, thrownBy } from '../check';
import { expectClose } from '../expect-close';
import { read, toTensors } from '../kernel-run';
import { type LayerConfig, layerCase, randomWeights } from '../layer-case';
import { layerNumbers } from '../layer-run';
import { expectSameMemory, memoryNow } from '../memory';
import { maxError } from '../tolerance';
import { rowFor, supports, traitsOf, type Variant } from './suite';
import { rowsOf } from './values';

const config: LayerConfig = { embedDim: 6, numHeads: 2, seed: 3 };

export function weightChecks(variant: Variant): readonly Check[] {
  return [
    ...rowsOf(variant).map((row) => ({
      name: `is rebuilt by its config, as JSON, and its weights: ${row.name}`,
      async run() {
        const layer = variant.create(row.config);
        const rebuilt = variant.create(JSON.parse(JSON.stringify(layer.config)));
        rebuilt.setWeights(layer.getWeights());
        const [inputs, call] = [layerCase(row).inputs(), layerCase(row).call()];
        const { output: one } = await layerNumbers(layer, inputs, call);
        const { output: other } = await layerNumbers(rebuilt, inputs, call);
        if (maxError(other!, one!) !== 0) throw new Error('the rebuilt layer gives another output');
        disposeAll([layer, rebuilt]);
      },
    })),
    ...(traitsOf(variant).json
      ? [
          {
            name: 'is made again by its JSON, with the seed it drew, its name and its kernel',
            run: () => checkJson(variant),
          },
        ]
      : []),
    { name: 'names its variables by parts.name, as whole names', run: () => checkNames(variant) },
    { name: 'starts the same for the same seed, and differently for others', run: () => checkSeeds(variant) },
    { name: 'gives copies of its weights, by the names of its variables', run: () => checkRead(variant) },
    {
      name: 'refuses weights that do not fit, and sets none of them then',
      run: () => checkWrongWeights(variant),
    },
    ...(traitsOf(variant).sumOfHeads && supports(variant, { ...config, headDim: 3 })
      ? [{ name: 'is the sum of its heads, each a layer of one head', run: () => checkHeads(variant) }]
      : []),
  ];
}

function disposeAll(layers: readonly Attention[]): void {
  for (const layer of layers) layer.dispose();
}

function startOf(layer: Attention): Promise<Float64Array[]> {
  return Promise.all(layer.variables.map(({ variable }) => read(variable)));
}

/** The layer draws its seed, and its JSON holds it. */
async function checkJson(variant: Variant): Promise<void> {
  const { seed: _, ...unseeded } = config;
  const layer = variant.create(unseeded, { name: 'block0/attention', kernel: composed() });
  const json = JSON.parse(JSON.stringify(layer));
  const rebuilt = fromConfig<Attention>(json, [layer.constructor as unknown as Kind, composed]);
  const [one, other] = [await startOf(layer), await startOf(rebuilt)];
  if (one.some((numbers, n) => maxError(numbers, other[n]!) !== 0))
    throw new Error('the layer made of JSON starts differently');
  if (namesOf(layer).join() !== namesOf(rebuilt).join()) throw new Error(`variables ${namesOf(rebuilt)}`);
  if (JSON.stringify(rebuilt) !== JSON.stringify(layer))
    throw new Error(`its JSON is ${JSON.stringify(rebuilt)}`);
  disposeAll([layer, rebuilt]);
}

const namesOf = (layer: Attention) => layer.variables.map(({ name }) => name);

/** Whole names stand in files of weights and choose how a variable starts; weights are read and set by short ones. */
async function checkNames(variant: Variant): Promise<void> {
  const plain = variant.create(config);
  const layers = ['block0', 'block0', 'block1'].map((block) =>
    variant.create(config, { name: `${block}/attention` }),
  );
  const [first, same, next] = layers as [Attention, Attention, Attention];
  const expected = namesOf(plain).map((name) => `block0/attention/${name}`);
  if (namesOf(first).join() !== expected.join()) throw new Error(`variables ${namesOf(first)}`);
  const weights = first.getWeights();
  const short = plain.getWeights();
  if (Object.keys(weights).join() !== Object.keys(short).join())
    throw new Error(`getWeights gives ${Object.keys(weights)}`);
  tf.dispose([weights, short]);
  const [one, two, three] = await Promise.all([startOf(first), startOf(same), startOf(next)]);
  const isRandom = (numbers: Float64Array) => numbers.some((x) => x !== numbers[0]);
  one.forEach((numbers, n) => {
    if (maxError(numbers, two[n]!) !== 0)
      throw new Error(`${expected[n]} starts differently in a layer of its name`);
    if (isRandom(numbers) && maxError(numbers, three[n]!) === 0)
      throw new Error(`${expected[n]} starts as that of another block`);
  });
  disposeAll([plain, ...layers]);
}

async function checkSeeds(variant: Variant): Promise<void> {
  const { seed: _, ...unseeded } = config;
  const configs = [config, config, { ...config, seed: 4 }, unseeded, unseeded];
  const layers = configs.map((each) => variant.create(each));
  const starts = await Promise.all(layers.map((layer) => startOf(layer)));
  const [one, same, ...others] = starts as [Float64Array[], Float64Array[]];
  if (one.some((numbers, n) => maxError(numbers, same[n]!) !== 0))
    throw new Error('the same seed starts differently');
  // Zeros, gains of 1 and the like start alike.
  const isRandom = (numbers: Float64Array) => numbers.some((x) => x !== numbers[0]);
  const all = [one, ...(others as Float64Array[][])].flat().filter(isRandom);
  const distinct = new Set(all.map((numbers) => numbers.join()));
  if (distinct.size !== all.length) throw new Error('two variables start with the same numbers');
  disposeAll(layers);
}

async function checkRead(variant: Variant): Promise<void> {
  const layer = variant.create(config);
  const before = await startOf(layer);
  const weights = layer.getWeights();
  const names = layer.variables.map(({ name }) => name);
  if (Object.keys(weights).join() !== names.join()) throw new Error(`${Object.keys(weights)} for ${names}`);
  const doubled = Object.fromEntries(Object.entries(weights).map(([name, x]) => [name, tf.mul(x, 2)]));
  layer.setWeights(doubled);
  tf.dispose([weights, doubled]);
  const after = await startOf(layer);
  if (after.some((numbers, n) => numbers.some((x, m) => x !== 2 * before[n]![m]!)))
    throw new Error('the weights are not those that were set');
  layer.dispose();
}

async function checkWrongWeights(variant: Variant): Promise<void> {
  const layer = variant.create(config);
  const before = await startOf(layer);
  const good = toTensors(randomWeights(layer));
  const last = layer.variables.at(-1)!.name;
  const { [last]: _, ...missing } = good;
  const wrong: { readonly [fault: string]: { readonly [name: string]: tf.Tensor } } = {
    missing,
    unknown: { ...good, stranger: tf.zeros([1]) },
    misshapen: { ...good, [last]: tf.zeros([...good[last]!.shape, 1]) },
    int32: { ...good, [last]: tf.zeros(good[last]!.shape, 'int32') },
  };
  const memory = memoryNow();
  for (const [fault, weights] of Object.entries(wrong)) {
    const error = await thrownBy(() => layer.setWeights(weights));
    const named = fault === 'unknown' ? 'stranger' : last;
    if (!isAttentionError(error) || !error.message.includes(named)) throw new Error(`${fault}: ${error}`);
  }
  expectSameMemory(memory);
  if ((await startOf(layer)).some((numbers, n) => maxError(numbers, before[n]!) !== 0))
    throw new Error('some were set');
  layer.dispose();
}

/** Columns of head h in each projection, rows of head h in that of the output: their outputs add up to the layer's. */
async function checkHeads(variant: Variant): Promise<void> {
  const D = 3;
  const whole = variant.create({ ...config, headDim: D });
  const weights = toTensors(randomWeights(whole));
  whole.setWeights(weights);
  const row = rowFor(variant, { name: '', config, B: 2, Sq: 4, Skv: 5, mask: 'causal' });
  const testCase = layerCase(row);
  const ofPosition = Object.entries(weights).filter(([name]) => name.startsWith('position/')); // shared by heads
  const outputOf = async (h: number) => {
    const head = variant.create({ ...config, numHeads: 1, headDim: D });
    const columns = (name: string) => tf.slice(weights[`${name}/kernel`]!, [0, h * D], [-1, D]);
    head.setWeights({
      ...Object.fromEntries(ofPosition),
      'query/kernel': columns('query'),
      'key/kernel': columns('key'),
      'value/kernel': columns('value'),
      'output/kernel': tf.slice(weights['output/kernel']!, [h * D, 0], [D, -1]),
    });
    const { output } = await layerNumbers(head, testCase.inputs(), testCase.call());
    head.dispose();
    return output!;
  };
  const [one, other] = [await outputOf(0), await outputOf(1)];
  expectClose({
    actual: { output: one.map((x, n) => x + other[n]!) },
    expected: await layerNumbers(whole, testCase.inputs(), testCase.call()),
  });
  whole.dispose();
}
