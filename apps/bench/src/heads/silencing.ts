// What a decoder loses without its heads: one by one, one after another, and after a short retraining of what is left.
import type { AttentionKernel } from '@polyhead/core';
import {
  type HeadLoss,
  type HeadPlace,
  silenceEach,
  silenceGreedily,
  silenceHeads,
  silenceInTurn,
} from '@polyhead/inspect';
import type { Decoder } from '@polyhead/transformer';
import { adamW, clipGradients, gradientsOf, warmupCosine } from '@polyhead/transformer/training';
import * as tf from '@tensorflow/tfjs'; // its gradients
import type { LoadedModel } from '../model/loaded-model';
import { idsOf } from '../model/proof';
import { lossOf, mobyDickBytes, type Rows, randomWindows, type WindowSize } from '../train/byte-text';

export interface Silencing {
  /** Predicted tokens that each loss is the mean of, in nats a token. */
  readonly tokens: number;
  /** With all heads. */
  readonly whole: number;
  /** Each head alone. */
  readonly heads: readonly HeadLoss[];
  /** One after another, in the order of what each costs alone. */
  readonly inTurn: readonly { readonly silenced: number; readonly loss: number }[];
  /** Each time the one that then costs least; only of models with few heads. */
  readonly greedily?: readonly HeadLoss[];
}

export interface Retrained {
  /** Which heads are silenced, in words. */
  readonly name: string;
  readonly silenced: number;
  /** Before training, and after it, in nats a token. */
  readonly before: number;
  readonly after: number;
}

interface RetrainSettings {
  /** What the losses are taken on. */
  readonly rows: Rows;
  readonly kernel: AttentionKernel;
  readonly steps: number;
  /** Of a step. */
  readonly windows: WindowSize;
  /** Of the windows. */
  readonly seed: number;
  onStep?(done: number, of: number): void;
}

/** Of a pass for each head: about two minutes on two cores. */
const mostProducts = 6e11;
const opening =
  'Call me Ishmael. Some years ago—never mind how long precisely—having little or no money in my purse, and nothing particular to interest me on shore, I thought I would sail about a little and see the watery part of the world. It is a way I have of driving off the spleen and regulating the circulation.';
const window = { batch: 4, length: 96 };
const fewHeads = 32;
const smallModel = 5e6;

export const parametersOf = ({ model }: LoadedModel) =>
  model.variables.reduce((sum, { variable }) => sum + variable.size, 0);

/** Moby Dick as the model's tokens: a part to learn from, and chapters that the repository's model has not seen. */
function texts(loaded: LoadedModel) {
  const { training, heldOut } = mobyDickBytes();
  const read = (bytes: Uint8Array) => Int32Array.from(idsOf(loaded, new TextDecoder().decode(bytes)));
  return { training: () => read(training.subarray(0, 200_000)), heldOut: () => read(heldOut) };
}

/** Rows that the losses are taken on, few enough that all passes end soon. */
export function rowsFor(loaded: LoadedModel, heads: number): Rows {
  const most = Math.max(8, Math.floor(mostProducts / (heads * parametersOf(loaded))));
  const length = Math.min(window.length, most);
  const batch = Math.min(window.batch, Math.floor(most / length));
  // So few tokens must begin where a text does: in its midst nobody could guess what follows.
  if (length < window.length) return [idsOf(loaded, opening).slice(0, length + 1)];
  return randomWindows(texts(loaded).heldOut(), { batch, length }, 7)();
}

export async function measureSilencing(
  loaded: LoadedModel,
  rows: Rows,
  { kernel, onPass }: { readonly kernel: AttentionKernel; onPass?(done: number, of: number): void },
): Promise<Silencing> {
  const model = loaded.model as Decoder;
  const options = { kernel, onPass };
  const loss = (own: AttentionKernel) => lossOf(model, rows, own);
  const { whole, heads } = await silenceEach(loss, options);
  const order = [...heads].sort((one, other) => one.loss - other.loss);
  const isFew = heads.length <= fewHeads;
  const together = isFew ? 1 : Math.ceil(heads.length / 10);
  const inTurn = await silenceInTurn(loss, order, { ...options, together });
  const greedily = isFew ? await silenceGreedily(loss, options) : undefined;
  const tokens = rows.reduce((sum, row) => sum + row.length - 1, 0);
  return { tokens, whole, heads, inTurn, ...(greedily && { greedily }) };
}

/** @returns why the model is not trained here */
export function whyNotRetrained(loaded: LoadedModel): string | undefined {
  if (parametersOf(loaded) <= smallModel) return undefined;
  return 'Not trained without them: a step of so large a model takes minutes.';
}

/**
 * Trains what is left without the worst head, and without half of the heads; and, to compare, the whole model as long. The
 * model's weights are then what they were.
 */
export function retrain(
  loaded: LoadedModel,
  { heads, greedily }: Silencing,
  settings: RetrainSettings,
): Retrained[] {
  const worst = heads.reduce((most, one) => (one.loss > most.loss ? one : most));
  const order = greedily ?? [...heads].sort((one, other) => one.loss - other.loss);
  const half = order.slice(0, Math.ceil(order.length / 2));
  const cases: readonly (readonly [string, readonly HeadPlace[]])[] = [
    ['none', []],
    ['the worst head', [worst]],
    [`the ${half.length} heads that go first`, half],
  ];
  const layers = 1 + Math.max(...heads.map(({ layer }) => layer));
  const { steps, windows, seed, onStep } = settings;
  const text = texts(loaded).training();
  const results: Retrained[] = [];
  for (const [n, [name, places]] of cases.entries()) {
    const silent = Array.from({ length: layers }, (_, layer) =>
      places.filter((one) => one.layer === layer).map(({ head }) => head),
    );
    const onOwn = (done: number) => onStep?.(n * steps + done, cases.length * steps);
    const nextRows = randomWindows(text, windows, seed); // the same ones for each
    const losses = trainWithout(loaded, silent, { ...settings, nextRows, onStep: onOwn });
    results.push({ name, silenced: places.length, ...losses });
  }
  return results;
}

function trainWithout(
  loaded: LoadedModel,
  silent: readonly (readonly number[])[],
  { rows, kernel, steps, nextRows, onStep }: RetrainSettings & { nextRows(): Rows },
): { readonly before: number; readonly after: number } {
  const model = loaded.model as Decoder;
  const lossOn = (batch: Rows) => lossOf(model, batch, silenceHeads(kernel, silent));
  const held = () => tf.tidy(() => lossOn(rows).dataSync()[0]!);
  const weights = model.getWeights();
  const optimizer = adamW(model.variables, { weightDecay: 0 });
  const rate = warmupCosine({ peak: 3e-4, warmupSteps: Math.min(5, steps - 1), steps });
  try {
    const before = held();
    for (let step = 1; step <= steps; step++) {
      tf.tidy(() => {
        const batch = nextRows();
        const { gradients } = gradientsOf(() => lossOn(batch), model.variables);
        optimizer.update(clipGradients(gradients, 1).gradients, rate(step));
      });
      onStep?.(step, steps);
    }
    return { before, after: held() };
  } finally {
    optimizer.dispose();
    model.setWeights(weights);
    tf.dispose(weights);
  }
}
