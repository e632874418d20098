// How long one prefill of a layer takes on each backend. Every case is checked against doubles before it is timed, and
// the cases take turns, so that whatever else the machine does falls on all of them.
import type { MultiHeadAttention } from '@polyhead/multi-head';
import * as tf from '@tensorflow/tfjs-core';
import type { BackendName } from '../backends/backend-name';
import { WrongResultError } from '../command-line/errors';
import { evenlySpread } from '../measure/evenly-spread';
import { type Spread, spreadOf } from '../measure/quantile';
import { allowedError, relativeError } from '../measure/relative-error';
import { timeOutput } from '../measure/time-output';
import { sampleLayer } from '../oracle/sampled-layer';
import { type PrefillCase, sampleCount } from './cases';

/** Times in milliseconds. */
export interface Timing extends Spread {
  readonly layer: string;
  readonly length: number;
  readonly backend: BackendName;
  /** Largest difference to the layer in doubles, as a share of its largest output. */
  readonly error: number;
}

const checkedRows = 8;

interface Runner {
  readonly prefill: PrefillCase;
  readonly backend: BackendName;
  readonly attention: MultiHeadAttention;
  readonly input: tf.Tensor3D; // [1, S, E]
  readonly error: number;
  readonly planned: number;
  readonly samples: number[];
}

type OnStep = (done: number, total: number) => void;

/** Leaves the first backend the current one. @throws where a layer's numbers are wrong: those are not timed. */
export async function timePrefill(
  cases: readonly PrefillCase[],
  backends: readonly BackendName[],
  onStep: OnStep = () => {},
): Promise<Timing[]> {
  const runners: Runner[] = [];
  try {
    for (const prefill of cases) {
      for (const backend of backends) {
        if (sampleCount(backend, prefill.length) === 0) continue;
        await tf.setBackend(backend);
        runners.push(prepare(prefill, backend));
      }
    }
    await takeTurns(runners, onStep);
    return runners.map(summarize);
  } finally {
    for (const { attention, input } of runners) {
      attention.dispose();
      input.dispose();
    }
    await tf.setBackend(backends[0]!);
  }
}

/** Checked, and thereby warm. */
function prepare(prefill: PrefillCase, backend: BackendName): Runner {
  const attention = prefill.create();
  const { length } = prefill;
  const input = tf.randomNormal<tf.Rank.R3>([1, length, attention.config.embedDim], 0, 1, 'float32', length);
  const error = errorOf(prefill, attention, input);
  if (!(error <= allowedError)) {
    attention.dispose();
    input.dispose();
    throw new WrongResultError(
      `${prefill.layer}, ${length} tokens on ${backend}: the output is off by ${error.toExponential(1)} of its ` +
        `largest number, more than ${allowedError.toExponential(0)}; a wrong answer is not timed`,
    );
  }
  return { prefill, backend, attention, input, error, planned: sampleCount(backend, length), samples: [] };
}

/** Largest difference to doubles over a few rows, first and last among them, as a share of their largest number. */
function errorOf({ length, mask }: PrefillCase, attention: MultiHeadAttention, input: tf.Tensor3D): number {
  const rows = evenlySpread(checkedRows, length);
  const layer = sampleLayer(attention);
  const heads = layer.headOutputs({ input: input.dataSync(), rows, causal: mask !== undefined });
  const expected = layer.output(heads);
  const output = tf.tidy(() => apply(attention, input, mask).dataSync());
  const columns = output.length / length;
  const actual = rows.flatMap((row) => [...output.subarray(row * columns, (row + 1) * columns)]);
  return relativeError(actual, expected);
}

/** Each runner's samples spread evenly over the rounds. */
async function takeTurns(runners: readonly Runner[], onStep: OnStep): Promise<void> {
  const rounds = Math.max(...runners.map(({ planned }) => planned));
  for (let round = 0; round < rounds; round++) {
    onStep(round, rounds);
    for (const runner of runners) {
      const due = Math.ceil(((round + 1) * runner.planned) / rounds);
      if (runner.samples.length >= due) continue;
      await tf.setBackend(runner.backend);
      const { attention, input, prefill } = runner;
      runner.samples.push(await timeOutput(() => apply(attention, input, prefill.mask)));
    }
  }
}

const apply = (attention: MultiHeadAttention, query: tf.Tensor3D, mask: PrefillCase['mask']) =>
  attention.apply({ query }, mask === undefined ? {} : { mask }).output;

function summarize({ prefill, backend, samples, error }: Runner): Timing {
  return {
    layer: prefill.layer,
    length: prefill.length,
    backend,
    ...spreadOf(samples),
    error,
  };
}
