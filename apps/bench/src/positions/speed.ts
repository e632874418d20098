// How long prefill and a step of decoding take with each position method, beside none.
import { causal } from '@polyhead/core';
import { StaticCache } from '@polyhead/kv-cache';
import * as tf from '@tensorflow/tfjs-core';
import { type Spread, spreadOf } from '../measure/quantile';
import { takeTurns } from '../measure/take-turns';
import { timeOutput } from '../measure/time-output';
import { checkedError, checkPositioned } from '../oracle/position-check';
import { type ComparedMethod, createPositioned, type PositionedLayer, type PositionShape } from './methods';

export interface PositionRun {
  /** Its longest is also how many tokens a step of decoding sees. */
  readonly shape: PositionShape;
  /** Of prompts, all of one sequence: ascending, so that a method keeps no more from earlier calls than it would. */
  readonly prefill: readonly number[];
  readonly samples: number;
}

/** Times in milliseconds. */
export interface TimedWork extends Spread {
  readonly phase: 'prefill' | 'decode';
  /** In one pass, or seen by the step. */
  readonly tokens: number;
  /** How many times as long as without positions. */
  readonly timesNone: number;
}

export interface PositionTiming {
  readonly name: string;
  readonly work: readonly TimedWork[];
  /** Largest difference to doubles, as a share of their largest number. */
  readonly error: number;
  /** The same of the last token, decoded, to one pass. */
  readonly stepError: number;
}

const mask = causal();

/**
 * @returns a layer without positions first
 * @throws WrongResultError for a method whose numbers are wrong: nothing is timed then
 */
export async function timePositions(
  compared: readonly ComparedMethod[],
  { shape, prefill, samples }: PositionRun,
  onRun: (done: number, total: number) => void = () => {},
): Promise<PositionTiming[]> {
  const { longest, embedDim } = shape;
  const input = tf.randomNormal<tf.Rank.R3>([1, longest, embedDim], 0, 1, 'float32', longest);
  const layers = [undefined, ...compared].map((method) => createPositioned(method, shape));
  const decoders: Decoder[] = [];
  const stages: TimedWork[][] = []; // of each, one a layer
  const time = async (
    work: Pick<TimedWork, 'phase' | 'tokens'>,
    jobs: readonly (() => Promise<number>)[],
  ) => {
    const earlier = stages.length;
    const times = await takeTurns(jobs, 1 + samples, (done, total) =>
      onRun(earlier * total + done, (prefill.length + 1) * total),
    );
    const spreads = times.map((of) => spreadOf(of.slice(1)));
    const none = spreads[0]!.median;
    stages.push(spreads.map((spread) => ({ ...work, ...spread, timesNone: spread.median / none })));
  };
  try {
    const errors = layers.map(checkPositioned);
    for (const tokens of prefill) {
      const jobs = layers.map((layer) => prefillJob(layer, input, tokens));
      await time({ phase: 'prefill', tokens }, jobs);
    }
    for (const layer of layers) decoders.push(createDecoder(layer, input));
    const steps = decoders.map(
      ({ step }) =>
        async () =>
          timeOutput(step),
    );
    await time({ phase: 'decode', tokens: longest }, steps);
    return layers.map(({ name }, n) => ({
      name,
      error: errors[n]!,
      stepError: decoders[n]!.error,
      work: stages.map((stage) => stage[n]!),
    }));
  } finally {
    input.dispose();
    for (const { dispose } of decoders) dispose();
    for (const layer of layers) layer.dispose();
  }
}

function prefillJob({ attention }: PositionedLayer, input: tf.Tensor3D, tokens: number) {
  return async () => {
    const query = tf.slice(input, [0, 0, 0], [1, tokens, -1]);
    const time = await timeOutput(() => attention.apply({ query }, { mask }).output);
    query.dispose();
    return time;
  };
}

interface Decoder {
  /** The last token, each time anew. */
  readonly step: () => tf.Tensor;
  readonly error: number;
  dispose(): void;
}

/** All tokens but the last stand in the cache; the step of the last is compared with one pass. */
function createDecoder({ name, attention, shape }: PositionedLayer, input: tf.Tensor3D): Decoder {
  const before = shape.longest - 1;
  const cache = new StaticCache(attention.cacheShape(1), { capacity: shape.longest });
  const last = tf.slice(input, [0, before, 0], [1, 1, -1]);
  const dispose = () => {
    last.dispose();
    cache.dispose();
  };
  const step = () => {
    cache.crop([before]);
    return attention.apply({ query: last }, { mask, cache }).output;
  };
  try {
    const error = tf.tidy(() => {
      attention.apply({ query: tf.slice(input, [0, 0, 0], [1, before, -1]) }, { mask, cache });
      const onePass = attention.apply({ query: input }, { mask }).output;
      const expected = tf.slice(onePass, [0, before, 0], [1, 1, -1]).dataSync();
      return checkedError(
        `${name}, a step at ${shape.longest} tokens against one pass`,
        step().dataSync(),
        expected,
      );
    });
    return { step, error, dispose };
  } catch (wrong) {
    dispose();
    throw wrong;
  }
}
