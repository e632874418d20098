// Checks of what a call may ask of a layer: results, a kernel, dropout in training.
import { type Attention, composed } from '@polyhead/core';
import type * as tf from '@tensorflow/tfjs-core';
import type { Check } from '../check';
import { tabulate } from '../inputs';
import { read, toTensor } from '../kernel-run';
import { type LayerConfig, layerCase } from '../layer-case';
import { layerNumbers } from '../layer-run';
import { maxError } from '../tolerance';
import { takes, type Variant } from './suite';

const config: LayerConfig = { embedDim: 6, numHeads: 2, seed: 5 };
const row = { name: '', config, B: 2, Sq: 4, Skv: 5, mask: 'causal' as const };

export function callChecks(variant: Variant): readonly Check[] {
  const withDropout = takes(variant, { ...config, dropout: 0.5 });
  return [
    {
      name: 'returns what is asked for, with its shape, and the same output',
      run: () => checkReturns(variant),
    },
    { name: 'runs the kernel of the call, else its own, and names it', run: () => checkKernel(variant) },
    { name: 'tells the shape of a cache for its keys and values', run: () => checkCacheShape(variant) },
    ...(withDropout
      ? [
          {
            name: 'drops weights in training only, the same for the same seed',
            run: () => checkDropout(variant),
          },
          { name: 'keeps a part of the weights, scaled by 1 / (1 - rate)', run: () => checkKept(variant) },
        ]
      : []),
  ];
}

async function checkReturns(variant: Variant): Promise<void> {
  const layer = variant.create(config);
  const found = layerCase(row);
  const shapes = { weights: [2, 2, 4, 5], logSumExp: [2, 2, 4], headOutputs: [2, 2, 4, 3] };
  const names = Object.keys(shapes) as (keyof typeof shapes)[];
  const { output: alone } = await layerNumbers(layer, found.inputs(), found.call());
  for (const returns of [[], ...names.map((name) => [name]), names]) {
    const { kernel, output, ...rest } = layer.apply(found.inputs(), { ...found.call(), returns });
    if (Object.keys(rest).sort().join() !== [...returns].sort().join())
      throw new Error(`${Object.keys(rest)} for ${returns}`);
    if (output.shape.join() !== '2,4,6') throw new Error(`output is [${output.shape}] by ${kernel}`);
    for (const name of returns) {
      if (rest[name]?.shape.join() !== shapes[name].join())
        throw new Error(`${name} is [${rest[name]?.shape}]`);
    }
    if (maxError(await read(output), alone!) !== 0)
      throw new Error(`asking for ${returns} changes the output`);
  }
  layer.dispose();
}

function checkKernel(variant: Variant): void {
  const named = (name: string) => ({ ...composed(), name });
  const [plain, own] = [variant.create(config), variant.create(config, { kernel: named('own') })];
  const found = layerCase(row);
  const ran = [
    plain.apply(found.inputs(), found.call()).kernel,
    own.apply(found.inputs(), found.call()).kernel,
    own.apply(found.inputs(), { ...found.call(), kernel: named('of the call') }).kernel,
  ];
  if (ran.join() !== 'composed,own,of the call') throw new Error(`ran ${ran}`);
  plain.dispose();
  own.dispose();
}

function checkCacheShape(variant: Variant): void {
  const layer = variant.create(config);
  const { batch, heads, keySize, valueSize } = layer.cacheShape(7);
  const widthOf = (name: string) => layer.variables.find((found) => found.name === name)!.variable.shape[1];
  const fits = heads * keySize === widthOf('key/kernel') && heads * valueSize === widthOf('value/kernel');
  if (batch !== 7 || !fits) throw new Error(`${batch} x ${heads} x (${keySize} + ${valueSize})`);
  layer.dispose();
}

async function checkDropout(variant: Variant): Promise<void> {
  const found = layerCase(row);
  const outputOf = async (layer: Attention, seed?: number) => {
    const training = seed !== undefined && { training: { seed } };
    const { output } = await layerNumbers(layer, found.inputs(), { ...found.call(), ...training });
    return output!;
  };
  const plain = variant.create(config);
  const layer = variant.create({ ...config, dropout: 0.5 });
  const other = variant.create({ ...config, dropout: 0.5, seed: 6 });
  other.setWeights(layer.getWeights());
  const same = (one: Float64Array, two: Float64Array) => maxError(one, two) === 0;
  const whole = await outputOf(plain);
  const dropped = await outputOf(layer, 1);
  const rules: readonly (readonly [boolean, string])[] = [
    [same(await outputOf(layer), whole), 'without training nothing is dropped'],
    [same(await outputOf(plain, 1), whole), 'a rate of 0 drops nothing'],
    [same(await outputOf(layer, 1), dropped), 'the same seed drops the same'],
    [!same(whole, dropped), 'training drops something'],
    [!same(await outputOf(layer, 2), dropped), 'another seed drops others'],
    [!same(await outputOf(other, 1), dropped), 'layers of other seeds drop others'],
  ];
  for (const [holds, rule] of rules) if (!holds) throw new Error(`not so: ${rule}`);
  for (const each of [plain, layer, other]) each.dispose();
}

/** Values are one-hot rows, so that head outputs are the weights that are left. */
async function checkKept(variant: Variant): Promise<void> {
  const [B, Sq, Skv, rate] = [2, 20, 12, 0.3];
  const layer = variant.create({ embedDim: 2 * Skv, numHeads: 2, dropout: rate, seed: 5 });
  const oneHot = tabulate([2 * Skv, 2 * Skv], (i, o) => Number(i === o! % Skv));
  layer.setWeights({ ...layer.getWeights(), 'value/kernel': toTensor(oneHot) });
  const { query, key } = layerCase({ ...row, config: layer.config as LayerConfig, B, Sq, Skv }).inputs();
  const value = toTensor(tabulate([B, Skv, 2 * Skv], (_b, j, c) => Number(j === c))) as tf.Tensor3D;
  const call = { training: { seed: 1 }, returns: ['weights', 'headOutputs'] as const };
  const { weights, headOutputs } = await layerNumbers(layer, { query, key: key!, value }, call);
  const kept = headOutputs!.map((left, n) => left / weights![n]!);
  const isFactor = (x: number) => x === 0 || Math.abs(x * (1 - rate) - 1) < 1e-5;
  if (!kept.every(isFactor)) throw new Error(`a weight is scaled by ${kept.find((x) => !isFactor(x))}`);
  const dropped = kept.filter((x) => x === 0).length / kept.length;
  const deviation = Math.sqrt((rate * (1 - rate)) / kept.length);
  if (Math.abs(dropped - rate) > 5 * deviation) throw new Error(`${dropped} are dropped, not ${rate}`);
  const sums = rowSums(weights!, Skv);
  if (!sums.every((sum) => Math.abs(sum - 1) < 1e-5))
    throw new Error('the weights returned are not those before dropout');
  layer.dispose();
}

function rowSums(weights: Float64Array, width: number): number[] {
  return Array.from({ length: weights.length / width }, (_, row) =>
    weights.subarray(row * width, (row + 1) * width).reduce((sum, x) => sum + x, 0),
  );
}
