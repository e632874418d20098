// Checks of what a call may ask of a layer: results, a kernel, dropout in training.
import { type Attention, composed, isAttentionError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { type Check, thrownBy } from '../check';
import { read } from '../kernel-run';
import { type LayerConfig, layerCase } from '../layer-case';
import { layerNumbers } from '../layer-run';
import { maxError } from '../tolerance';
import { oracleOf, returnsOf, rowFor, supports, takesInput, type Variant } from './suite';

const config: LayerConfig = { embedDim: 6, numHeads: 2, seed: 5 };
const rowOf = (variant: Variant) =>
  rowFor(variant, { name: '', config, B: 2, Sq: 4, Skv: 5, mask: 'causal' });

export function callChecks(variant: Variant): readonly Check[] {
  const hasDropout = supports(variant, { ...config, dropout: 0.5 });
  const refused = (['key', 'value'] as const).filter((name) => !takesInput(variant, name));
  return [
    {
      name: 'returns what the call names, with its shape, and the same output',
      run: () => checkReturns(variant),
    },
    { name: 'runs the kernel of the call, else its own, and names it', run: () => checkKernel(variant) },
    ...refused.map((name) => ({
      name: `refuses a ${name}, which it does not take`,
      run: () => checkRefusedInput(variant, name),
    })),
    ...(hasDropout
      ? [
          {
            name: 'drops weights in training only, the same for the same seed',
            run: () => checkDropout(variant),
          },
        ]
      : []),
  ];
}

/** Shapes are [B, heads, Sq, …], of as many numbers as the oracle gives. */
async function checkReturns(variant: Variant): Promise<void> {
  const layer = variant.create(config);
  const testCase = layerCase(rowOf(variant));
  const weights = Object.fromEntries(
    await Promise.all(
      layer.variables.map(
        async ({ name, variable }) => [name, { shape: variable.shape, data: await read(variable) }] as const,
      ),
    ),
  );
  const expected = oracleOf(variant).oracle({
    ...testCase.oracle,
    weights,
    ...(variant.position && { position: variant.position }),
  });
  const names = returnsOf(variant);
  const { output: alone } = await layerNumbers(layer, testCase.inputs(), testCase.call());
  for (const returns of [[], ...names.map((name) => [name]), names]) {
    const { kernel, output, ...rest } = layer.apply(testCase.inputs(), { ...testCase.call(), returns });
    if (Object.keys(rest).sort().join() !== [...returns].sort().join())
      throw new Error(`${Object.keys(rest)} for ${returns}`);
    if (output.shape.join() !== '2,4,6') throw new Error(`output is [${output.shape}] by ${kernel}`);
    for (const name of returns) {
      const { shape, size, rank } = rest[name]!;
      const fits = rank === (name === 'logSumExp' ? 3 : 4) && shape[0] === 2 && shape[2] === 4;
      if (!fits || size !== expected[name]!.length) throw new Error(`${name} is [${shape}]`);
    }
    if (maxError(await read(output), alone!) !== 0)
      throw new Error(`returning ${returns} changes the output`);
  }
  layer.dispose();
}

function checkKernel(variant: Variant): void {
  const named = (name: string) => ({ ...composed(), name });
  const [plain, own] = [variant.create(config), variant.create(config, { kernel: named('own') })];
  const testCase = layerCase(rowOf(variant));
  const ran = [
    plain.apply(testCase.inputs(), testCase.call()).kernel,
    own.apply(testCase.inputs(), testCase.call()).kernel,
    own.apply(testCase.inputs(), { ...testCase.call(), kernel: named('of the call') }).kernel,
  ];
  if (ran.join() !== 'composed,own,of the call') throw new Error(`ran ${ran}`);
  plain.dispose();
  own.dispose();
}

async function checkRefusedInput(variant: Variant, name: 'key' | 'value'): Promise<void> {
  const layer = variant.create(config);
  const tokens = tf.ones<tf.Rank.R3>([2, 4, 6]);
  const inputs = { query: tokens, key: tokens, ...(name === 'value' && { value: tokens }) };
  const error = await thrownBy(() => layer.apply(inputs));
  if (!isAttentionError(error) || !error.message.includes(name)) throw error;
  layer.dispose();
}

async function checkDropout(variant: Variant): Promise<void> {
  const testCase = layerCase(rowOf(variant));
  const outputOf = async (layer: Attention, seed?: number) => {
    const training = seed !== undefined && { training: { seed } };
    const { output } = await layerNumbers(layer, testCase.inputs(), { ...testCase.call(), ...training });
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
