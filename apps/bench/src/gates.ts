// `bench gates`: the speeds that Polyhead promises, each as a ratio to a peer in one interleaved run.
import { attend, causal, composed } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { chooseBackend } from './backend';
import { WrongResultError } from './errors';
import type { Outlet } from './outlet';
import { quantile } from './quantile';
import { alignColumns } from './table';
import { causalBias, tunedHeads } from './tuned-heads';

export interface Gate {
  readonly work: string;
  readonly against: string;
  readonly bound: string;
  readonly holds: (ratio: number) => boolean;
  readonly runs: number;
  /** What the ratio divides: the peer's time by ours, where `ours` is what a bound is set for. */
  readonly make: () => {
    readonly ours: Job;
    readonly peer: Job;
    readonly ratio: (ours: number, peer: number) => number;
  };
}

type Job = () => tf.Tensor;

const mask = causal();
const speedUp = (ours: number, peer: number) => peer / ours;

const gates: readonly Gate[] = [
  { ...prefill(512), bound: 'at least 1 ×', holds: (ratio) => ratio >= 1, runs: 25 },
  { ...prefill(2048), bound: 'at least 1.5 ×', holds: (ratio) => ratio >= 1.5, runs: 7 },
  {
    work: 'causal prefill, 128 heads, S 512, D 64',
    against: '16 times 8 heads',
    bound: 'at most 1.5 × the time',
    holds: (ratio) => ratio <= 1.5,
    runs: 5,
    make() {
      const [many, few] = [heads(128, 512), heads(8, 512)];
      return {
        ours: () => ofComposed(many),
        peer: () => ofComposed(few),
        ratio: (ours, peer) => ours / (16 * peer),
      };
    },
  },
  {
    work: 'a call of 2 heads, S 8, D 16',
    against: 'the four operations alone',
    bound: 'at most 0.1 ms more',
    holds: (ratio) => ratio <= 0.1,
    runs: 2000,
    make() {
      const [q, k, v] = heads(2, 8, 16);
      const four = () =>
        tf.tidy(() => tf.matMul(tf.softmax(tf.mul(tf.matMul(q!, k!, false, true), 0.25)), v!));
      const ours = () => attend(composed, { query: q!, key: k!, value: v! }).output;
      return { ours, peer: four, ratio: (mine, peer) => mine - peer };
    },
  },
];

/** @throws WrongResultError where the two sides of a gate disagree: wrong answers are not timed */
export async function runGates(outlet: Outlet): Promise<void> {
  await chooseBackend('wasm');
  const rows = gates.map((gate, n) => {
    outlet.progress.stage(`gate ${n + 1} of ${gates.length}: ${gate.work}`);
    return gateRow(gate);
  });
  const head = ['work on wasm', 'ours ms', 'against', 'ms', 'ratio', 'bound', ''];
  outlet.print(alignColumns([head, ...rows], [1, 3, 4]));
}

/** What was measured, and whether the bound holds. */
export function gateRow(gate: Gate): string[] {
  const { ours, peer, ratio } = gate.make();
  const [mine, theirs] = takeTurns([ours, peer], gate.runs) as [number, number];
  const value = ratio(mine, theirs);
  const verdict = gate.holds(value) ? 'holds' : 'missed';
  return [gate.work, mine.toFixed(2), gate.against, theirs.toFixed(2), value.toFixed(2), gate.bound, verdict];
}

/** The median of each job in milliseconds; the jobs take turns. */
function takeTurns(jobs: readonly Job[], runs: number): number[] {
  const samples = jobs.map((): number[] => []);
  for (let run = -2; run < runs; run++) {
    jobs.forEach((job, n) => {
      const start = performance.now();
      const result = job();
      const elapsed = performance.now() - start; // wasm computes before it returns
      if (run >= 0) samples[n]!.push(elapsed);
      result.dispose();
    });
  }
  return samples.map((times) => quantile(times, 0.5));
}

function heads(H: number, S: number, D = 64): tf.Tensor4D[] {
  return [1, 2, 3].map((seed) => tf.randomNormal<tf.Rank.R4>([1, H, S, D], 0, 1, 'float32', seed));
}

function ofComposed([query, key, value]: readonly tf.Tensor4D[]): tf.Tensor {
  return attend(composed, { query: query!, key: key!, value: value! }, { mask }).output;
}

function prefill(S: number): Pick<Gate, 'work' | 'against' | 'make'> {
  return {
    work: `causal prefill, 8 heads, S ${S}, D 64`,
    against: 'hand-tuned heads',
    make() {
      const inputs = heads(8, S);
      const bias = causalBias(S);
      const [query, key, value] = inputs as [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D];
      const jobs = { ours: () => ofComposed(inputs), peer: () => tunedHeads(query, key, value, bias) };
      const difference = tf.tidy(() => tf.max(tf.abs(tf.sub(jobs.ours(), jobs.peer()))).dataSync()[0]!);
      if (!(difference < 1e-5))
        throw new WrongResultError(`gates: ${S} tokens: the two differ by ${difference}`);
      return { ...jobs, ratio: speedUp };
    },
  };
}
