// Recall over long sequences: eight facts lie among noise, and the last token asks for one of them. Full attention, attention to a
// window with the question as a global token (as Longformer has it: Beltagy et al. 2020, arXiv 2004.05150), and `tf.layers.lstm`
// learn it on 64 tokens, attention now and then on 512, and are asked on up to 1,024.
import { anyOf, globalTokens, type Mask, slidingWindow } from '@polyhead/core';
import { flash } from '@polyhead/flash';
import { MultiHeadAttention } from '@polyhead/multi-head';
import { Dense, Embedding, TransformerBlock } from '@polyhead/transformer';
import { crossEntropy } from '@polyhead/transformer/training';
import * as tf from '@tensorflow/tfjs';
import type { Results } from './results';
import { idsOf, mapsOf, type Random, randomFrom, type Tell, train } from './train';

const [names, numbers, noises, embedDim] = [8, 8, 16, 32];
const fact = (name: number, number: number) => name * numbers + number;
const question = (name: number) => names * numbers + name;
const noise = (n: number) => names * numbers + names + n;
const vocabularySize = names * numbers + names + noises;

/** Noise, with a fact for each name somewhere in it, and a question at the end. */
function drawText(random: Random, length: number) {
  const row = Array.from({ length }, () => noise(random(noises)));
  const values = Array.from({ length: names }, () => random(numbers));
  const places = new Set<number>();
  while (places.size < names) places.add(random(length - 1));
  [...places].forEach((place, name) => {
    row[place] = fact(name, values[name]!);
  });
  const name = random(names);
  row[length - 1] = question(name);
  return { row, answer: values[name]!, place: [...places][name]! };
}
type Texts = readonly ReturnType<typeof drawText>[];
const draw = (random: Random, count: number, length: number): Texts =>
  Array.from({ length: count }, () => drawText(random, length));

interface Learner {
  readonly name: string;
  readonly variables: Parameters<typeof train>[0];
  /** Scores of the numbers at the last token, [B, 1, 8]. */
  logitsOf(texts: Texts): tf.Tensor3D;
  dispose(): void;
}

/** One block of attention without positions, under a mask. */
function attending(name: string, maskOf: (length: number) => Mask | undefined) {
  const embedding = new Embedding({ vocabularySize, embedDim, seed: 1 }, { name: 'words' });
  const block = new TransformerBlock(
    { embedDim, norm: { kind: 'rms' }, feedForward: { hiddenDim: 64, activation: 'relu' }, seed: 1 },
    {
      name: 'block',
      attention: (parts) => new MultiHeadAttention({ embedDim, numHeads: 2, seed: 1 }, parts),
    },
  );
  const head = new Dense({ inputDim: embedDim, outputDim: numbers, seed: 1 }, { name: 'head' });
  const masks = new Map<number, Mask | undefined>();
  const logitsOf = (texts: Texts, kernel = flash()) => {
    const length = texts[0]!.row.length;
    if (!masks.has(length)) masks.set(length, maskOf(length));
    const { output } = block.apply(embedding.apply(idsOf(texts.map(({ row }) => row))), {
      mask: masks.get(length),
      kernel,
    });
    return head.apply(tf.slice(output, [0, length - 1, 0], [-1, 1, -1])) as tf.Tensor3D;
  };
  const parts = [embedding, block, head];
  return {
    name,
    variables: parts.flatMap((part) => part.variables),
    logitsOf,
    dispose() {
      for (const part of parts) part.dispose();
    },
  };
}

/** Embeddings of ours, since those of tf.layers have no gradient on wasm; all else is tfjs's own. */
function remembering(): Learner {
  const embedding = new Embedding({ vocabularySize, embedDim, seed: 1 }, { name: 'words' });
  const glorot = (seed: number) => tf.initializers.glorotUniform({ seed });
  const lstm = tf.layers.lstm({
    units: 64,
    kernelInitializer: glorot(2),
    recurrentInitializer: glorot(3),
    inputShape: [null, embedDim],
  });
  const model = tf.sequential({
    layers: [lstm, tf.layers.dense({ units: numbers, kernelInitializer: glorot(4) })],
  });
  const own = model.trainableWeights.map((weight) => ({
    name: weight.name,
    variable: (weight as unknown as { readonly val: tf.Variable }).val,
  }));
  return {
    name: 'lstm',
    variables: [...embedding.variables, ...own],
    logitsOf(texts) {
      const embedded = embedding.apply(idsOf(texts.map(({ row }) => row)));
      return tf.reshape(model.apply(embedded) as tf.Tensor, [-1, 1, numbers]);
    },
    dispose() {
      embedding.dispose();
      model.dispose();
    },
  };
}

export interface Row {
  readonly name: string;
  readonly length: number;
  /** The share of answers that are right. */
  readonly right: number;
  /** Of one text, read once. */
  readonly milliseconds: number;
}

const lossOf = ({ logitsOf }: Learner, texts: Texts) =>
  crossEntropy(
    logitsOf(texts),
    texts.map(({ answer }) => [answer]),
  );

/** The share of right answers for texts that were not learned from, and the time that one takes. */
function ask({ name, logitsOf }: Learner, length: number): Row {
  const held = draw(randomFrom(2), Math.min(64, 16_384 / length), length);
  tf.tidy(() => logitsOf(held.slice(0, 1)).dataSync()); // prepares
  const start = performance.now();
  const said = tf.tidy(() => tf.argMax(logitsOf(held), 2).dataSync());
  const milliseconds = (performance.now() - start) / held.length;
  return {
    name,
    length,
    right: held.filter(({ answer }, b) => answer === said[b]).length / held.length,
    milliseconds,
  };
}

/** The recurrent net goes token by token: its steps take longer, and it gets fewer. */
const defaults = { steps: 400, lstmSteps: 100 };

/** @returns a row for each learner and length, and what the heads of full attention read for a question */
export function recall({
  steps = defaults.steps,
  lstmSteps = defaults.lstmSteps,
  lengths = [64, 256, 1024],
  tell = () => {},
}: {
  readonly steps?: number;
  readonly lstmSteps?: number;
  readonly lengths?: readonly number[];
  readonly tell?: Tell;
} = {}) {
  const full = attending('full', () => undefined);
  const local = attending('window + global', (length) =>
    anyOf(slidingWindow({ left: 8, right: 8 }), globalTokens([length - 1])),
  );
  const rows: Row[] = [];
  for (const learner of [full, local, remembering()]) {
    const random = randomFrom(1);
    tell(learner.name);
    const isRecurrent = learner.name === 'lstm';
    const training = { steps: isRecurrent ? lstmSteps : steps, peak: 0.01, tell };
    // Softmax is shared among all tokens: whoever has met short texts only gives too much to noise in long ones.
    const lengthAt = (step: number) => (!isRecurrent && step > steps / 2 && step % 4 === 0 ? 512 : 64);
    train(learner.variables, (step) => lossOf(learner, draw(random, 16, lengthAt(step))), training);
    for (const length of lengths) rows.push(ask(learner, length));
    if (learner !== full) learner.dispose();
  }
  const [text] = draw(randomFrom(3), 1, 64);
  const maps = mapsOf((kernel) => full.logitsOf([text!], kernel));
  full.dispose();
  const [ofBlock] = maps;
  return { rows, place: text!.place, lastRow: ofBlock!.map((head) => head.at(-1)!) }; // [H][64]
}

/** Learns, says how well, and gives what is kept. */
export function show(tell: Tell): Partial<Results> {
  const { rows, place, lastRow } = recall({ tell });
  for (const { name, length, right, milliseconds } of rows)
    tell(
      `${name.padEnd(16)} ${`${length}`.padStart(5)} tokens  ${(100 * right).toFixed(0).padStart(3)} % right  ${milliseconds.toFixed(2).padStart(8)} ms a text`,
    );
  lastRow.forEach((weights, head) => {
    tell(
      `head ${head + 1} of full attention gives the asked fact, token ${place} of 64, ${(100 * weights[place]!).toFixed(0)} % of the question's weight`,
    );
  });
  return { recall: { steps: defaults.steps, lstmSteps: defaults.lstmSteps, rows } };
}
