// One decoder trained from one seed; and the reference, pooled into fewer key/value heads and trained on.
import { type AttentionKernel, composed, firstSupported } from '@polyhead/core';
import { flash } from '@polyhead/flash';
import { fromMultiHead } from '@polyhead/grouped-query';
import type { Decoder } from '@polyhead/transformer';
import { warmupCosine } from '@polyhead/transformer/training';
import * as tf from '@tensorflow/tfjs-core';
import { evenWindows, meanLoss, mobyDickBytes, type Rows, randomWindows } from './byte-text';
import {
  type Candidate,
  createDecoder,
  nameOf,
  numHeads,
  pooledVariants,
  reference,
  sizesOf,
} from './candidates';
import { fit } from './fit';
import type { TrainedRun, TrainSettings, Uptraining } from './result';

export interface Task extends Candidate {
  readonly seed: number;
  readonly settings: TrainSettings;
}

export interface Trained {
  readonly run: TrainedRun;
  /** Of the reference alone. */
  readonly uptraining: readonly Uptraining[];
}

const peakRate = 3e-3;
const endRate = 1e-4;
/** Further training starts anew from weights that are good already. */
const uptrainingRate = 1e-3;

export async function fastestKernel(): Promise<AttentionKernel> {
  const fused = flash();
  await fused.prepare?.();
  return firstSupported([fused, composed()]);
}

type OnStep = (done: number) => void | Promise<void>;

/** @param onStep is told how many steps were done, of those `stepsOf` counts */
export async function trainOne(task: Task, onStep: OnStep = () => {}): Promise<Trained> {
  const { seed, settings } = task;
  const { steps, batch, length, heldOutBatches, stepsAPoint } = settings;
  const kernel = await fastestKernel();
  const text = mobyDickBytes();
  const windows = { batch, length };
  // All decoders of a seed read the same batches, and all are asked about the same windows.
  const nextRows = randomWindows(text.training, windows, seed);
  const heldOut = evenWindows(text.heldOut, windows, heldOutBatches);
  const { model, dispose } = createDecoder(task, { seed, longest: length });
  const losses: number[] = [];
  try {
    await fit(model, {
      steps,
      kernel,
      nextRows,
      rate: warmupCosine({
        peak: peakRate,
        warmupSteps: Math.min(100, Math.floor(steps / 5)),
        steps,
        end: endRate,
      }),
      onStep(step, nats) {
        losses.push(nats);
        return onStep(step);
      },
    });
    const loss = await meanLoss(model, heldOut, kernel);
    const { variant, position } = task;
    const run = {
      ...{ variant, position, seed, ...sizesOf(task, model) },
      curve: pointsOf(losses, stepsAPoint).map(bits),
      heldOut: bits(loss),
    };
    if (nameOf(task) !== nameOf(reference)) return { run, uptraining: [] };
    let done = steps;
    const further = { task, kernel, nextRows, heldOut, before: run.heldOut, onStep: () => onStep(++done) };
    return { run, uptraining: await uptrain(model, further) };
  } finally {
    dispose();
  }
}

/** Steps of a task, those of further training included. */
export function stepsOf(task: Task): number {
  const { steps, uptrainingSteps } = task.settings;
  if (nameOf(task) !== nameOf(reference)) return steps;
  return steps + uptrainingSteps * (1 + pooledVariants.length);
}

interface Further {
  readonly task: Task;
  readonly kernel: AttentionKernel;
  readonly nextRows: () => Rows;
  readonly heldOut: readonly Rows[];
  readonly before: number;
  readonly onStep: () => void | Promise<void>;
}

/** Ainslie et al. 2023 (arXiv 2305.13245): key/value heads become means of groups, then a twentieth of the steps. */
async function uptrain(model: Decoder, further: Further): Promise<Uptraining[]> {
  const { task, kernel, nextRows, heldOut, before, onStep } = further;
  const { seed, settings } = task;
  const { uptrainingSteps: steps } = settings;
  const batches = Array.from({ length: steps }, nextRows); // the same ones for all
  const heldOutLoss = async (of: Decoder) => bits(await meanLoss(of, heldOut, kernel));
  const trainOn = async (of: Decoder) => {
    const rate = warmupCosine({
      peak: uptrainingRate,
      warmupSteps: Math.floor(steps / 5),
      steps,
      end: endRate,
    });
    const rows = batches.values();
    await fit(of, { steps, kernel, rate, nextRows: () => rows.next().value!, onStep });
    return heldOutLoss(of);
  };
  const pooled = [];
  for (const { name: variant, keyValueHeads } of pooledVariants) {
    const made = createDecoder({ ...task, variant }, { seed, longest: settings.length });
    try {
      poolInto(made.model, model, keyValueHeads);
      const loss = await heldOutLoss(made.model);
      pooled.push({ variant, seed, keyValueHeads, pooled: loss, trainedOn: await trainOn(made.model) });
    } finally {
      made.dispose();
    }
  }
  const referenceTrainedOn = await trainOn(model); // last: it changes the model
  return pooled.map((one) => ({ ...one, before, referenceTrainedOn }));
}

/** Gives a decoder the weights of another, with the key/value heads of each group as their mean. */
export function poolInto(model: Decoder, source: Decoder, numKeyValueHeads: number): void {
  const weights = new Map(source.variables.map(({ name, variable }) => [name, variable]));
  const isOfHeads = (name: string) => /attention\/(query|key|value|output)\//.test(name);
  tf.tidy(() => {
    for (const { name, variable } of model.variables)
      if (!isOfHeads(name)) variable.assign(weights.get(name)!);
    for (const [index, { attention }] of model.blocks.entries()) {
      const weights = source.blocks[index]!.attention.getWeights();
      attention.setWeights(fromMultiHead(weights, { numHeads, numKeyValueHeads }));
    }
  });
}

function pointsOf(losses: readonly number[], stepsAPoint: number): number[] {
  return Array.from({ length: Math.ceil(losses.length / stepsAPoint) }, (_, n) => {
    const some = losses.slice(n * stepsAPoint, (n + 1) * stepsAPoint);
    return some.reduce((sum, loss) => sum + loss, 0) / some.length;
  });
}

const bits = (nats: number) => nats / Math.LN2;
