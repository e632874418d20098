// Captions: patches of made pictures to words. A picture has two shapes; the caption says what they are and how they stand. Blocks
// with positions in two dimensions read the patches, and a decoder writes, with cross-attention to them.
import { flash } from '@polyhead/flash';
import { textHeadMaps } from '@polyhead/inspect';
import { MultiHeadAttention } from '@polyhead/multi-head';
import { axialRotary, gridPositions, sinusoidal } from '@polyhead/relative-position';
import { Decoder, Dense, TransformerBlock } from '@polyhead/transformer';
import { crossEntropy } from '@polyhead/transformer/training';
import * as tf from '@tensorflow/tfjs';
import type { Results } from './results';
import { answer, idsOf, mapsOf, type Random, randomFrom, shareRight, type Tell, train } from './train';

const colors = { red: [1, 0, 0], green: [0, 1, 0], blue: [0, 0, 1], yellow: [1, 1, 0] } as const;
/** 4 by 4 pixels each. */
const shapes = {
  square: ['####', '#..#', '#..#', '####'],
  cross: ['#..#', '.##.', '.##.', '#..#'],
  bar: ['....', '####', '####', '....'],
  dot: ['....', '.##.', '.##.', '....'],
} as const;
/** Of the first shape, in reading order, to the second: far where a patch or two lie between. */
const relations = ['left of', 'above', 'far left of', 'far above'];
const words = ['.', ...Object.keys(colors), ...Object.keys(shapes), ...relations];
const cells = 4; // a picture is 4 by 4 patches of 4 by 4 pixels
const patchSize = 4 * 4 * 3;

/** Patches [16][48] with two shapes in one row or one column, and the caption. */
function drawPicture(random: Random) {
  const pick = <T extends object>(from: T) =>
    Object.keys(from)[random(Object.keys(from).length)]! as keyof T & string;
  const isColumn = random(2);
  const [line, one] = [random(cells), random(cells - 1)];
  const other = one + 1 + random(cells - 1 - one);
  const relation = isColumn + (other - one > 1 ? 2 : 0);
  const place = (at: number) => (isColumn ? at * cells + line : line * cells + at);
  const things = [one, other].map((at) => ({ at: place(at), color: pick(colors), shape: pick(shapes) }));
  const patches = Array.from({ length: cells * cells }, () => new Array<number>(patchSize).fill(0));
  for (const { at, color, shape } of things)
    shapes[shape].forEach((row, y) => {
      [...row].forEach((pixel, x) => {
        if (pixel === '#') patches[at]!.splice((y * 4 + x) * 3, 3, ...colors[color]);
      });
    });
  const [a, b] = things as [(typeof things)[number], (typeof things)[number]];
  const caption = [a.color, a.shape, relations[relation]!, b.color, b.shape];
  return {
    patches,
    target: caption.map((word) => words.indexOf(word)),
    caption,
    places: things.map(({ at }) => at),
  };
}
type Picture = ReturnType<typeof drawPicture>;

function createModel() {
  const embedDim = 48;
  const norm = { kind: 'rms' } as const;
  const feedForward = { hiddenDim: 96, activation: 'relu' } as const;
  const sizes = { embedDim, numHeads: 4, seed: 1 };
  const position = axialRotary({ headDim: 12 });
  const patches = new Dense(
    { inputDim: patchSize, outputDim: embedDim, useBias: true, seed: 1 },
    { name: 'patches' },
  );
  const block = new TransformerBlock(
    { embedDim, norm, feedForward, seed: 1 },
    {
      name: 'eye',
      attention: (parts) => new MultiHeadAttention(sizes, { ...parts, position, kernel: flash() }),
    },
  );
  const attention = (parts: object) => new MultiHeadAttention(sizes, { ...parts, kernel: flash() });
  const decoder = new Decoder(
    { vocabularySize: words.length, embedDim, numLayers: 1, norm, feedForward, seed: 1 },
    { name: 'writer', attention, crossAttention: attention, positions: sinusoidal({ embedDim }) },
  );
  const positions = gridPositions([cells, cells]);
  /** [B, 16, E] */
  const see = (pictures: readonly Picture[], kernel = flash()) => {
    const x = tf.tensor3d(pictures.map((picture) => picture.patches));
    return block.apply(patches.apply(x), { positions, kernel }).output;
  };
  const parts = [patches, block, decoder];
  return {
    variables: parts.flatMap((part) => part.variables),
    see,
    decoder,
    dispose() {
      for (const part of parts) part.dispose();
    },
  };
}

/** @returns the share of held-out pictures whose caption is right to the last word, one of them, and what the heads look at */
export function captions({
  steps = 600,
  tell = () => {},
}: {
  readonly steps?: number;
  readonly tell?: Tell;
} = {}) {
  const model = createModel();
  const behind = (pictures: readonly Picture[]) =>
    idsOf(pictures.map(({ target }) => [0, ...target.slice(0, -1)]));
  const random = randomFrom(1);
  train(
    model.variables,
    () => {
      const pictures = Array.from({ length: 32 }, () => drawPicture(random));
      const { logits } = model.decoder.apply(behind(pictures), { memory: model.see(pictures) });
      return crossEntropy(
        logits,
        pictures.map(({ target }) => target),
      );
    },
    { steps, peak: 0.006, tell },
  );
  const unseen = randomFrom(2);
  const held = Array.from({ length: 200 }, () => drawPicture(unseen));
  const said = tf.tidy(() => {
    const memory = model.see(held);
    return answer(held.length, 5, (rows) => model.decoder.apply(idsOf(rows), { memory }).logits);
  });
  const first = held[0]!;
  const maps = mapsOf((kernel) =>
    model.decoder.apply(behind([first]), { memory: model.see([first]), kernel }),
  );
  model.dispose();
  return {
    right: shareRight(
      said,
      held.map(({ target }) => target),
    ),
    places: first.places,
    caption: said[0]!.map((id) => words[id]!),
    heads: maps.at(-1)!, // [H][5][16]
  };
}

/** Learns, says how well, and gives what is kept. */
export function show(tell: Tell): Partial<Results> {
  const { right, places, caption, heads } = captions({ tell });
  tell(
    `${(100 * right).toFixed(1)} % of 200 pictures that were held out get the right caption: “${caption.join(' ')}”`,
  );
  tell(
    `Its shapes are in patches ${places.join(' and ')} of 0 to 15. What each head looks at, a row for each word:`,
  );
  for (const line of textHeadMaps(heads, {
    queries: caption,
    keys: [...Array(16).keys()].map(String),
    width: 110,
  }).lines)
    tell(line);
  return { captions: { right } };
}
