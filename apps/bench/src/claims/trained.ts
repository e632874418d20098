// What one head cannot do and two can: a task with two lookups at once, learned by layers of equal size.
import { seededRandom } from '@polyhead/conformance/oracle';
import { countParameters } from '@polyhead/core';
import { MultiHeadAttention, variableShapes } from '@polyhead/multi-head';
import { adamW, crossEntropy, gradientsOf } from '@polyhead/transformer/training';
import * as tf from '@tensorflow/tfjs';
import { type Claim, percent, whole } from './claim';

const [places, names, embedDim, batch] = [8, 8, 32, 64];

/** Tokens with a name and a number each, in any order; a query asks for the numbers of two names, in its order. */
function questions(count: number, random: () => number) {
  const shuffled = () =>
    [...Array(names).keys()]
      .map((name) => [random(), name] as const)
      .sort(([a], [b]) => a - b)
      .map(([, name]) => name);
  const key = new Float32Array(count * places * embedDim);
  const query = new Float32Array(count * embedDim);
  const answers: number[][] = [];
  for (let b = 0; b < count; b++) {
    const [order, numbers] = [shuffled(), Array.from({ length: names }, () => Math.floor(random() * names))];
    order.forEach((name, place) => {
      key[(b * places + place) * embedDim + name] = 1;
      key[(b * places + place) * embedDim + names + numbers[name]!] = 1;
    });
    const pair = shuffled().slice(0, 2);
    pair.forEach((name, n) => {
      query[b * embedDim + n * names + name] = 1;
    });
    answers.push(pair.map((name) => numbers[name]!));
  }
  return {
    query: tf.tensor3d(query, [count, 1, embedDim]),
    key: tf.tensor3d(key, [count, places, embedDim]),
    answers,
  };
}

const learned = new Map<number, number>();

/** The share of pairs of numbers that a layer with so many heads gets right, both of them, after 100 steps. */
function shareRight(numHeads: number): number {
  const known = learned.get(numHeads);
  if (known !== undefined) return known;
  const attention = new MultiHeadAttention({ embedDim, numHeads, outputDim: 2 * names, seed: 1 });
  const optimizer = adamW(attention.variables, { weightDecay: 0 });
  const random = seededRandom(7);
  const logitsOf = ({ query, key, answers }: ReturnType<typeof questions>) =>
    tf.reshape(attention.apply({ query, key }).output, [answers.length, 2, names]);
  for (let step = 0; step < 100; step++)
    tf.tidy(() => {
      const examples = questions(batch, random);
      const { gradients } = gradientsOf(
        () => crossEntropy(logitsOf(examples), examples.answers),
        attention.variables,
      );
      optimizer.update(gradients, 0.02);
    });
  const share = tf.tidy(() => {
    const held = questions(512, seededRandom(99));
    const said = tf.argMax(logitsOf(held), 2).arraySync() as number[][];
    return said.filter((pair, b) => `${pair}` === `${held.answers[b]}`).length / said.length;
  });
  optimizer.dispose();
  attention.dispose();
  learned.set(numHeads, share);
  return share;
}

const parameters = countParameters(variableShapes({ embedDim, numHeads: 1, outputDim: 2 * names }));

export const trained: readonly Claim[] = [
  {
    number: 1,
    says: 'One head gives one set of weights, and so one notion of what is relevant.',
    within: 0.15,
    run() {
      const [one, two] = [shareRight(1), shareRight(2)];
      return {
        verdict: one < 0.5 && two > 0.95 ? 'true' : 'false',
        answer: `Eight tokens have a name and a number each; a query names two of them and wants both numbers, in its order. A layer with one head of 32 learns ${percent(one)} of the answers, one with two heads of 16 ${percent(two)}: one head mixes both numbers, and cannot tell which came first.`,
      };
    },
  },
  {
    number: 20,
    says: 'Several heads say more than one of full width, at the same cost.',
    within: 0.15,
    run() {
      const shares = [1, 2, 8].map(shareRight);
      return {
        verdict: shares[0]! < 0.5 && Math.min(...shares.slice(1)) > 0.95 ? 'true' : 'false',
        answer: `On the task of claim 1, ${whole(parameters)} parameters each: 1 head ${percent(shares[0]!)}, 2 heads ${percent(shares[1]!)}, 8 heads ${percent(shares[2]!)} right. Where one lookup is enough, one head is, too.`,
      };
    },
  },
  {
    number: 50,
    says: 'More heads are better.',
    within: 0.15,
    run() {
      const [one, eight, all] = [shareRight(1), shareRight(8), shareRight(32)];
      return {
        verdict: eight > one + 0.3 && all < eight - 0.3 ? 'depends' : 'false',
        answer: `Up to a point. At width 32 the task of claim 1 is learned to ${percent(one)} by 1 head, ${percent(eight)} by 8 heads of 4, and ${percent(all)} by 32 heads of 1, in as many steps: one number cannot tell eight names apart.`,
      };
    },
  },
];
