// How each combination of the suite of position methods is tried: against the oracle of layers.
import type { Attention, LayerCall, TokenPositions } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { expectClose, expectSlopes } from '../expect-close';
import { slopesOf, weightedSum } from '../gradients';
import { randomArray, seededRandom } from '../inputs';
import { read, toTensor } from '../kernel-run';
import { type LayerCase, type LayerConfig, layerCase, randomWeights } from '../layer-case';
import { layerOracle } from '../layer-oracle';
import { layerGradients, layerNumbers } from '../layer-run';
import type { MaskName } from '../mask-kinds';
import { expectSameMemory, memoryNow } from '../memory';
import type { OracleInputs } from '../oracle';
import { remember } from '../remember';
import type { PositionCase, PositionSuite, PositionVariant } from './suite';

const base: LayerConfig = { embedDim: 3, numHeads: 4, headDim: 4, seed: 1 };

/** Positions of a call: as a layer takes them, and as the oracle reads them. */
export interface CallPositions {
  readonly positions?: readonly TokenPositions[];
  readonly expected?: NonNullable<OracleInputs['positions']>;
}

/** How a layer is called. Without `Skv` it attends to itself. */
export interface CellCall extends CallPositions {
  readonly B: number;
  readonly Sq: number;
  readonly Skv?: number;
  readonly mask: MaskName;
}

/** A method on a variant, in one call. */
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

/** The layer and its case, with numbers in every variable, the method's too, and what the oracle gives. */
function prepare(trial: Trial) {
  const { method, call } = trial;
  const { config, position, layer } = create(trial);
  const weights = randomWeights(layer);
  for (const { name, variable } of layer.variables) variable.assign(toTensor(weights[name]!));
  const testCase = layerCase({ name: '', config, ...call });
  const inputs = {
    ...testCase.oracle,
    weights,
    position: method.oracle,
    ...(call.expected && { positions: call.expected }),
  };
  const shapes = Object.entries(weights).map(([name, { shape }]) => [name, shape]);
  const positions = call.positions?.map((at) => (at.each ? [...at.each] : at.start));
  const key = [config, { ...call, positions }, shapes];
  return {
    layer,
    testCase,
    arrays: { ...testCase.arrays, ...weights },
    evaluate: () => layerOracle(inputs),
    /** What is the same for the variants and kernels that have the same config and variables. */
    remembered: <T>(what: string, compute: () => T) => remember([what, ...key], [method.oracle], compute),
    call: (): LayerCall => ({
      ...testCase.call(),
      ...(call.positions && { positions: call.positions }),
    }),
    dispose() {
      layer.dispose();
      position.dispose();
    },
  };
}

/** Output and weights of one call are the oracle's. */
export async function checkOnePass(trial: Trial): Promise<void> {
  const { layer, testCase, evaluate, remembered, call, dispose } = prepare(trial);
  const { output, weights, maxAbsScore } = remembered('results', evaluate);
  expectClose({
    actual: await layerNumbers(layer, testCase.inputs(), { ...call(), returns: ['weights'] }),
    expected: { output, weights },
    maxAbsScore,
  });
  dispose();
}

/** Gradients agree with derivatives of the oracle, along a random direction of each input and variable. */
export async function checkGradients(trial: Trial): Promise<void> {
  const { layer, testCase, arrays, evaluate, remembered, call, dispose } = prepare(trial);
  const first = remembered('results', evaluate);
  const cotangent = randomArray(first.output.length, seededRandom(first.output.length));
  const loss = () => weightedSum(evaluate().output, cotangent);
  const gradients = await layerGradients(layer, {
    inputs: testCase.inputs(),
    call: call(),
    cotangents: { output: cotangent },
  });
  const slopes = remembered('slopes', () => slopesOf(loss, arrays));
  expectSlopes({ gradients, slopes, maxAbsScore: first.maxAbsScore });
  dispose();
}

/** Chunks of tokens, the past in a cache, give the rows of one pass. */
export async function checkCached(trial: Trial, suite: PositionSuite): Promise<void> {
  const { layer, testCase, evaluate, remembered, call, dispose } = prepare(trial);
  const { output, maxAbsScore } = remembered('results', evaluate);
  expectClose({
    actual: { output: await read(inChunks(layer, testCase, { call: call(), suite })) },
    expected: { output },
    maxAbsScore,
  });
  dispose();
}

function inChunks(
  layer: Attention,
  testCase: LayerCase,
  { call, suite }: { readonly call: LayerCall; readonly suite: PositionSuite },
): tf.Tensor3D {
  const { query } = testCase.inputs();
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
  const { testCase, call } = prepare(trial);
  const [{ query }, options] = [testCase.inputs(), call()];
  const before = memoryNow();
  const { layer, position } = create(trial);
  const use = () => {
    layer.apply({ query }, options);
    tf.variableGrads(() => tf.sum(tf.square(layer.apply({ query }, options).output)));
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
  const { layer, testCase, call } = prepare(trial);
  const cache = suite.createCache(layer, 2);
  const { query } = testCase.inputs();
  tf.grad((x) => tf.sum(layer.apply({ query: x as tf.Tensor3D }, { ...call(), cache }).output))(query);
}

export function secondGradient(trial: Trial): void {
  const { layer, testCase, call } = prepare(trial);
  const output = (x: tf.Tensor) => tf.sum(layer.apply({ query: x as tf.Tensor3D }, call()).output);
  tf.grad((x) => tf.sum(tf.grad(output)(x)))(testCase.inputs().query);
}
