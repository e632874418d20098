// How each combination of the suite of position methods is tried: against the oracle of layers.
import type { Attention, LayerCall, TokenPositions } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { expectClose } from '../expect-close';
import { centralDifferences, weightedSum } from '../gradients';
import { randomArray, seededRandom } from '../inputs';
import { type Numbers, read, toTensor } from '../kernel-run';
import { type LayerCase, type LayerConfig, layerCase, randomWeights } from '../layer-case';
import { layerOracle } from '../layer-oracle';
import { layerGradients, layerNumbers } from '../layer-run';
import type { MaskName } from '../mask-kinds';
import { expectSameMemory, memoryNow } from '../memory';
import type { HostTensor, OracleInputs } from '../oracle';
import type { PositionCase, PositionSuite, PositionVariant } from './suite';

const base: LayerConfig = { embedDim: 3, numHeads: 4, headDim: 4, seed: 1 };

/** Positions of a call: given to a layer, and to the oracle. */
export interface Standing {
  readonly positions?: readonly TokenPositions[];
  readonly places?: NonNullable<OracleInputs['positions']>;
}

/** How a layer is called. Without `Skv` it attends to itself. */
export interface CellCall extends Standing {
  readonly B: number;
  readonly Sq: number;
  readonly Skv?: number;
  readonly mask: MaskName;
}

/** What is tried: a method on a variant, in one call. */
export interface Trial {
  readonly method: PositionCase;
  readonly variant: PositionVariant;
  readonly call: CellCall;
}

function create({ method, variant }: Trial) {
  const config = { ...base, ...variant.config };
  const { numHeads, headDim = 1, embedDim } = config;
  const position = method.create({ numHeads, headDim, embedDim });
  return { config, position, layer: variant.create(config, { position }) };
}

/** The layer and its case, with numbers in every variable, the method's too. */
function made(trial: Trial) {
  const { method, call } = trial;
  const { config, position, layer } = create(trial);
  const weights = randomWeights(layer);
  for (const { name, variable } of layer.variables) variable.assign(toTensor(weights[name]!));
  const found = layerCase({ name: '', config, ...call });
  const oracle = {
    ...found.oracle,
    weights,
    position: method.oracle,
    ...(call.places && { positions: call.places }),
  };
  return {
    layer,
    found,
    weights,
    oracle,
    call: (): LayerCall => ({ ...found.call(), ...(call.positions && { positions: call.positions }) }),
    dispose() {
      layer.dispose();
      position.dispose();
    },
  };
}

export async function checkOnePass(trial: Trial): Promise<void> {
  const { layer, found, oracle, call, dispose } = made(trial);
  const { output, weights, maxAbsScore } = layerOracle(oracle);
  expectClose({
    actual: await layerNumbers(layer, found.inputs(), { ...call(), returns: ['weights'] }),
    expected: { output, weights },
    maxAbsScore,
  });
  dispose();
}

/** The gradient of every number of the method's variables, and of every seventh of the layer's own and its inputs. */
export async function checkGradients(trial: Trial): Promise<void> {
  const { layer, found, weights, oracle, call, dispose } = made(trial);
  const first = layerOracle(oracle);
  const output = randomArray(first.output.length, seededRandom(first.output.length));
  const loss = () => weightedSum(layerOracle(oracle).output, output);
  const arrays: { readonly [name: string]: HostTensor } = { ...found.arrays, ...weights };
  const entriesOf = (name: string) =>
    [...arrays[name]!.data.keys()].filter((n) => name.startsWith('position/') || n % 7 === 0);
  const chosen = (numbers: Numbers) =>
    Object.fromEntries(
      Object.keys(arrays).map((name) => [
        name,
        Float64Array.from(entriesOf(name), (n) => numbers[name]![n]!),
      ]),
    );
  const differences = Object.entries(arrays).map(([name, { data }]) => [
    name,
    centralDifferences(loss, data, entriesOf(name)),
  ]);
  const gradients = await layerGradients(layer, {
    inputs: found.inputs(),
    call: call(),
    cotangents: { output },
  });
  expectClose({
    actual: chosen(gradients),
    expected: chosen(Object.fromEntries(differences)),
    maxAbsScore: first.maxAbsScore,
    isGradient: true,
  });
  dispose();
}

/** Chunks of tokens, the past in a cache, give the rows of one pass. */
export async function checkCached(trial: Trial, suite: PositionSuite): Promise<void> {
  const { layer, found, oracle, call, dispose } = made(trial);
  const { output, maxAbsScore } = layerOracle(oracle);
  expectClose({
    actual: { output: await read(inChunks(layer, found, { call: call(), suite })) },
    expected: { output },
    maxAbsScore,
  });
  dispose();
}

function inChunks(
  layer: Attention,
  found: LayerCase,
  { call, suite }: { readonly call: LayerCall; readonly suite: PositionSuite },
): tf.Tensor3D {
  const { query } = found.inputs();
  const cache = suite.createCache(layer, query.shape[0]);
  let at = 0;
  const outputs = [2, 1, 1, 1].map((size) => {
    const chunk = tf.slice(query, [0, at, 0], [-1, size, -1]);
    at += size;
    return layer.apply({ query: chunk }, { ...call, cache }).output;
  });
  cache.dispose();
  return tf.concat(outputs, 1);
}

/** After the first calls, what a method remembers included, further ones leave nothing; disposed, nothing is left. */
export function checkMemory(trial: Trial): void {
  const { found, call } = made(trial);
  const [{ query }, asked] = [found.inputs(), call()];
  const before = memoryNow();
  const { layer, position } = create(trial);
  const use = () => {
    layer.apply({ query }, asked);
    tf.variableGrads(() => tf.sum(tf.square(layer.apply({ query }, asked).output)));
  };
  tf.tidy(use);
  const used = memoryNow();
  tf.tidy(use);
  expectSameMemory(used);
  layer.dispose();
  position.dispose();
  expectSameMemory(before);
}

export function gradientWithCache(trial: Trial, suite: PositionSuite): void {
  const { layer, found, call } = made(trial);
  const cache = suite.createCache(layer, 2);
  const { query } = found.inputs();
  tf.grad((x) => tf.sum(layer.apply({ query: x as tf.Tensor3D }, { ...call(), cache }).output))(query);
}

export function secondGradient(trial: Trial): void {
  const { layer, found, call } = made(trial);
  const output = (x: tf.Tensor) => tf.sum(layer.apply({ query: x as tf.Tensor3D }, call()).output);
  tf.grad((x) => tf.sum(tf.grad(output)(x)))(found.inputs().query);
}
