// Products of rows with weights: alone, in a layer, and in a step of training.
import {
  causal,
  type ProductKernel,
  QuantizedWeights,
  setDefaultProducts,
  tfjsProducts,
} from '@polyhead/core';
import { project } from '@polyhead/core/layer';
import { denseProducts } from '@polyhead/dense';
import { flashWasm } from '@polyhead/flash/wasm';
import { MultiHeadAttention } from '@polyhead/multi-head';
import { rotary } from '@polyhead/relative-position';
import { crossEntropy, gradientsOf } from '@polyhead/transformer/training';
import * as tf from '@tensorflow/tfjs-core';
import { createOwnModel } from '../../model/own/own-model';
import { againstNumbers } from '../check';
import type { Contest, Entered } from '../contest';
import type { Contestant, Entry } from '../contestant';
import type { Gate } from '../gate';
import { polyhead } from '../peers/polyhead';
import { tfjsWasm } from '../peers/tfjs-wasm';
import { tensorContestant } from '../tensor-contestant';
import { limitOfWasm, peaksOf } from '../wasm-limits';

const dense = 'dense';
const int8 = 'dense, int8';
const q4 = 'dense, Q4_1';
const plain = 'dense, plain SIMD';
const byTfjs = 'products of tfjs';

const products: Readonly<Record<string, () => ProductKernel>> = {
  [dense]: () => denseProducts(),
  [plain]: () => denseProducts({ relaxedSimd: false }),
  [byTfjs]: tfjsProducts,
};

type Run = () => tf.Tensor | readonly tf.Tensor[];

/** Contestants that do the same by other products; the last one is what numbers are compared with. */
function byProducts(
  names: readonly string[],
  runWith: (products: ProductKernel) => Run,
  times: number,
): readonly Contestant[] {
  const runs = names.map((name) => runWith(products[name]!()));
  const expected = tf.tidy(() => [runs.at(-1)!()].flat().map((of) => of.dataSync<'float32'>().slice()));
  return names.map((op, n) => {
    const contestant = tensorContestant({
      peer: polyhead,
      op,
      run: runs[n]!,
      check: againstNumbers(expected),
    });
    return repeated(contestant, runs[n]!, times);
  });
}

/** Times several calls, where one is too short for a clock. */
function repeated(contestant: Contestant, run: Run, times: number): Contestant {
  if (times === 1) return contestant;
  const all = tensorContestant({
    ...contestant,
    run() {
      for (let n = 1; n < times; n++) tf.dispose(run() as tf.Tensor[]);
      return run();
    },
  });
  return { ...contestant, turn: all.turn };
}

const normal = (shape: number[], seed: number) => tf.randomNormal(shape, 0, 1, 'float32', seed);

interface ProductWork {
  readonly work: string;
  readonly sizes: readonly [rows: number, inDim: number, outDim: number];
  readonly times: number;
  readonly gates: readonly Gate[];
  readonly gradients?: boolean;
}

function productContest({ work, sizes, times, gates, gradients = false }: ProductWork): Contest {
  const [R, I, O] = sizes;
  return {
    work,
    runs: 9,
    gates,
    async enter() {
      const [x, gradient] = [normal([1, R, I], 1) as tf.Tensor3D, normal([1, R, O], 2) as tf.Tensor3D];
      const weights = tf.variable(normal([I, O], 3)) as tf.Variable<tf.Rank.R2>;
      const call = { x, weights, transposed: false, sizes: { rows: R, inDim: I, outDim: O } };
      const runWith = (kernel: ProductKernel): Run =>
        gradients
          ? () => tf.tidy(() => Object.values(kernel.gradients(call, gradient)) as tf.Tensor[])
          : () => project(x, weights, undefined, { products: kernel });
      const entries: Entry[] = [...byProducts([dense, plain, byTfjs], runWith, times)];
      if (!gradients) {
        const matMul = { peer: tfjsWasm, version: tf.version_core, op: 'matMul' };
        const run = () => tf.matMul(x, weights as tf.Tensor);
        entries.push(repeated(tensorContestant({ ...matMul, run }), run, times));
      }
      // One row is bound by memory.
      if (R > 1) entries.push(...(await peaksOf((gradients ? 4 : 2) * R * I * O * times)));
      return { entries, dispose: () => tf.dispose([x, gradient, weights]) };
    },
  };
}

const overMatMul = (name: string, bound?: number, aim?: number): Gate => ({
  ours: name,
  peer: tfjsWasm,
  measure: 'speed',
  ...(bound !== undefined && { bound }),
  ...(aim !== undefined && { aim }),
});

const overTfjs = (name: string, bound?: number, aim?: number): Gate => ({
  ...overMatMul(name, bound, aim),
  peer: polyhead,
  ops: [byTfjs],
});

const shareOf = (ours: string, op: string, bound?: number, aim?: number): Gate => ({
  ours,
  peer: limitOfWasm,
  ops: [op],
  measure: 'share',
  ...(bound !== undefined && { bound }),
  ...(aim !== undefined && { aim }),
});

const fused = 'relaxed multiply-add';
const apart = 'multiply, then add';

/** One row with weights at rest in fewer bits. */
async function enterBlocks(): Promise<Entered> {
  const [size, times] = [4096, 4];
  const x = normal([1, 1, size], 1);
  const floats = normal([size, size], 3) as tf.Tensor2D;
  // The high bytes of float16 scales, of about 2^-6 as in a file: numbers below 2^-14 take a processor many times as long.
  const quarter = Uint8Array.from({ length: (size * size * 20) / 32 }, (_, n) =>
    n % 20 === 1 || n % 20 === 3 ? 0x24 : (n * 37) & 0xff,
  );
  const stored = {
    [int8]: QuantizedWeights.fromFloats(floats),
    [q4]: QuantizedWeights.fromBlocks('Q4_1', [size, size], quarter),
  };
  const kernel = denseProducts();
  const entries = Object.entries(stored).map(([op, weights]) => {
    const expected = tf.tidy(() =>
      project(x, weights, undefined, { products: tfjsProducts() }).dataSync<'float32'>(),
    );
    // Rows are rounded to 16 bits: what is off by less than 2^-12 of the largest number counts as right.
    const check = (numbers: readonly Float32Array[]) =>
      againstNumbers([expected])(numbers) < 2 ** -12 ? 0 : 1;
    const run = () => project(x, weights, undefined, { products: kernel });
    return repeated(tensorContestant({ peer: polyhead, op, run, check }), run, times);
  });
  const run = () => tf.matMul(x, floats as tf.Tensor);
  const matMul = tensorContestant({ peer: tfjsWasm, version: tf.version_core, op: 'matMul', run });
  return {
    entries: [...entries, repeated(matMul, run, times)],
    dispose() {
      for (const weights of Object.values(stored)) weights.dispose();
      tf.dispose([x, floats]);
    },
  };
}

/** A whole layer of attention, 8 heads of 64, on a prompt. */
async function enterLayer(): Promise<Entered> {
  const x = normal([1, 2048, 512], 1);
  const layerBy = (kernel: ProductKernel): Run => {
    const layer = new MultiHeadAttention(
      { embedDim: 512, numHeads: 8, useBias: false, seed: 1 },
      { kernel: flashWasm(), products: kernel, position: rotary({ headDim: 64 }) },
    );
    return () => layer.apply({ query: x }, { mask: causal() }).output;
  };
  return { entries: byProducts([dense, byTfjs], layerBy, 1), dispose: () => x.dispose() };
}

/** Loss and gradients of the repository's decoder of 0.7 million numbers, 1,024 tokens, with flash. */
async function enterTraining(): Promise<Entered> {
  const S = 1024;
  const model = createOwnModel();
  const kernel = flashWasm();
  const ids = Array.from({ length: S + 1 }, (_, n) => (n * 37 + (n % 11) * 5) % model.vocabularySize);
  const input = tf.tensor2d([ids.slice(0, S)], undefined, 'int32');
  const loss = () => crossEntropy(model.apply(input, { kernel }).logits, [ids.slice(1)]);
  const stepBy =
    (own: ProductKernel): Run =>
    () => {
      setDefaultProducts(own);
      try {
        const step = gradientsOf(loss, model.variables);
        return [step.loss, ...Object.values(step.gradients)];
      } finally {
        setDefaultProducts(undefined);
      }
    };
  const dispose = () => {
    input.dispose();
    model.dispose();
  };
  return { entries: byProducts([dense, byTfjs], stepBy, 1), dispose };
}

export const productContests: readonly Contest[] = [
  productContest({
    work: 'products, [2048, 512] by [512, 512]',
    sizes: [2048, 512, 512],
    times: 1,
    gates: [
      overMatMul(dense, 2.2, 2.6),
      overMatMul(plain, 1.7, 2.1),
      shareOf(dense, fused, 0.78, 0.9),
      shareOf(plain, apart),
    ],
  }),
  productContest({
    work: 'products, [16, 512] by [512, 512]',
    sizes: [16, 512, 512],
    times: 50,
    gates: [overMatMul(dense, 1.4, 1.8), overMatMul(plain), shareOf(dense, fused), shareOf(plain, apart)],
  }),
  productContest({
    work: 'products, one row by [4096, 4096]',
    sizes: [1, 4096, 4096],
    times: 4,
    gates: [overMatMul(dense, 1.1, 1.5), overMatMul(plain)],
  }),
  {
    work: 'products, one row by [4096, 4096] in 8 and 4 bits',
    runs: 9,
    gates: [overMatMul(int8, 2, 3.5), overMatMul(q4, 2, 3.5)],
    enter: enterBlocks,
  },
  productContest({
    work: 'products, both gradients of [2048, 512] by [512, 512]',
    sizes: [2048, 512, 512],
    times: 1,
    gradients: true,
    gates: [overTfjs(dense, 1.8, 2.3), overTfjs(plain), shareOf(dense, fused), shareOf(plain, apart)],
  }),
  {
    work: 'products in a layer: 2,048 tokens, 512 wide, 8 heads, rotary',
    runs: 7,
    gates: [overTfjs(dense, 1.5, 1.75)],
    enter: enterLayer,
  },
  {
    work: 'products in training: loss and gradients of 0.7 M numbers, S 1024, flash',
    runs: 7,
    gates: [overTfjs(dense, 1.4, 1.8)],
    enter: enterTraining,
  },
];
