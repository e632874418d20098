// What the small jobs of `examples/jobs` have learned, as their last full run left it there; and the model that two of them use.
import * as tf from '@tensorflow/tfjs';
import { createEncoderDecoder } from '../../../../examples/jobs/encoder-decoder';
import { readResults } from '../../../../examples/jobs/results';
import { type Claim, decide, difference, percent, whole } from './claim';

export const jobs: readonly Claim[] = [
  {
    number: 40,
    says: 'Recurrent nets fail at long range, attention does not.',
    run() {
      const { rows, steps, lstmSteps } = readResults().recall;
      const of = (wanted: string) => rows.filter(({ name }) => name === wanted);
      const list = (wanted: string) =>
        of(wanted)
          .map(({ right }) => percent(right))
          .join(', ');
      const lengths = of('full')
        .map(({ length }) => whole(length))
        .join(', ');
      const [attending, remembering] = [of('full'), of('lstm')].map((all) => all.map(({ right }) => right));
      return {
        verdict: decide({
          // What was not learned at the length of training says nothing of longer ones.
          true: Math.min(...attending!) > 0.95 && remembering![0]! > 0.9 && Math.min(...remembering!) < 0.5,
          depends: Math.min(...attending!) > Math.max(...remembering!),
        }),
        answer: `Attention does not, in so many steps; of the other half this run says only that it learns more slowly. Eight facts lie in noise, and the last token asks for one. Learned on 64 tokens in ${steps} steps, a few of them on 512, attention is right at ${lengths} tokens in ${list('full')} of the texts, with a window and the question as a global token in ${list('window + global')}; \`tf.layers.lstm\`, which gets ${lstmSteps} steps, in ${list('lstm')}, and luck has 13 %: it has not learned it at 64 tokens, so that this is no proof that it cannot look far.`,
      };
    },
    time() {
      const { rows } = readResults().recall;
      const of = (wanted: string) =>
        rows
          .filter(({ name }) => name === wanted)
          .map(({ milliseconds }) => milliseconds.toFixed(1))
          .join(', ');
      return `Milliseconds a text of these lengths: full ${of('full')}, window and global ${of('window + global')}, lstm ${of('lstm')}.`;
    },
  },
  {
    number: 43,
    says: 'The encoder encodes, the decoder generates, and each has feed-forward layers.',
    run() {
      const model = createEncoderDecoder(20);
      const ids = (row: number[]) => tf.tensor2d([row], undefined, 'int32');
      const first = (x: tf.Tensor3D) => tf.slice(x, [0, 0, 0], [1, 1, -1]);
      const [source, other] = [
        [1, 2, 3, 4],
        [1, 2, 3, 9],
      ]; // another last token
      const encoded = difference(
        ...([source, other].map((row) => first(model.encode(ids(row)).output)) as [tf.Tensor, tf.Tensor]),
      );
      const decoded = difference(
        ...([source, other].map((row) => first(model.apply(ids(source), ids(row)).logits)) as [
          tf.Tensor,
          tf.Tensor,
        ]),
      );
      const read = difference(
        ...([source, other].map((row) => first(model.apply(ids(row), ids(source)).logits)) as [
          tf.Tensor,
          tf.Tensor,
        ]),
      );
      const forward = ['encoder', 'decoder'].map(
        (part) =>
          model.variables.filter(({ name }) => name.startsWith(part) && name.includes('feedForward/')).length,
      );
      model.dispose();
      return {
        verdict: decide({
          true: encoded > 0 && decoded === 0 && read > 0 && forward.every((count) => count > 0),
        }),
        answer: `In this form of the model. With another last token the first vector of the encoder changes, since it sees both ways; the first of the decoder changes by ${decoded}, and does where the source changes. Feed-forward layers have ${forward[0]} variables in a block of each. GPT and Llama are decoders alone, BERT is an encoder alone.`,
      };
    },
  },
  {
    number: 44,
    says: 'Attention translates, summarises by copying or saying it shorter, and captions.',
    run() {
      const { translation, summaries, captions } = readResults();
      const shares = [translation.right, summaries.right, captions.right];
      return {
        verdict: decide({ true: Math.min(...shares) >= 0.95, depends: Math.min(...shares) >= 0.5 }),
        answer: `Small ones learn small ones, in less than three minutes each: dates from one notation to another, right to the letter in ${percent(shares[0]!)} of 200 that were held out; reports of which the sentences that matter are said shorter, ${percent(shares[1]!)}; captions of pictures with two shapes, ${percent(shares[2]!)}.`,
      };
    },
  },
  {
    number: 47,
    says: 'Attention serves beyond text: vision, reinforcement learning.',
    run() {
      const { captions, decisions } = readResults();
      return {
        verdict: decide({ true: Math.min(captions.right, decisions.right) >= 0.95 }),
        answer: `Captions of pictures are right in ${percent(captions.right)}. A decision transformer that has seen random walks only, in a world of 5 by 5 squares, makes ${percent(decisions.right)} of ${decisions.journeys} journeys in the fewest steps there are; a random walk of as many steps arrives in ${percent(decisions.byLuck)}.`,
      };
    },
  },
];
