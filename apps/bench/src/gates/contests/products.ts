// Products of rows with weights: alone, in a layer, and in a step of training.
import { causal, type ProductKernel, setDefaultProducts, tfjsProducts } from '@polyhead/core';
import { project } from '@polyhead/core/layer';
import { denseProducts } from '@polyhead/dense';
import { MultiHeadAttention } from '@polyhead/multi-head';
import { rotary } from '@polyhead/relative-position';
import { crossEntropy, gradientsOf } from '@polyhead/transformer/training';
import * as tf from '@tensorflow/tfjs-core';
import { createOwnModel } from '../../model/own/own-model';
import { againstNumbers } from '../check';
import type { Contest, Entered } from '../contest';
import type { Contestant, Entry } from '../contestant';
import type { Gate } from '../gate';
import { kernelUnderTest } from '../kernel-under-test';
import { matMul } from '../onnx-products';
import { onnxEntries, onnxPeers } from '../peers/onnxruntime';
import { polyhead } from '../peers/polyhead';
import { overMatMul, tfjsMatMul } from '../peers/tfjs-wasm';
import { tensorContestant } from '../tensor-contestant';
import { limitOfWasm, peaksOf } from '../wasm-limits';
import { storedProducts } from './stored-products';

const dense = 'dense';
const plain = 'dense, plain SIMD';
const byTfjs = 'products of tfjs';

const products: Readonly<Record<string, (threads: number) => ProductKernel>> = {
  [dense]: (threads) => denseProducts({ threads }),
  [plain]: (threads) => denseProducts({ threads, relaxedSimd: false }),
  [byTfjs]: () => tfjsProducts(),
};

type Run = () => tf.Tensor | readonly tf.Tensor[];

/** Contestants that do the same by other products; the last one is what numbers are compared with. */
async function byProducts(
  names: readonly string[],
  runWith: (products: ProductKernel) => Run,
  { threads, times = 1 }: { readonly threads: number; readonly times?: number },
): Promise<readonly Contestant[]> {
  const kernels = names.map((name) => products[name]!(threads));
  for (const kernel of kernels) await kernel.prepare?.();
  const runs = kernels.map(runWith);
  const expected = tf.tidy(() => [runs.at(-1)!()].flat().map((of) => of.dataSync<'float32'>().slice()));
  const check = againstNumbers(expected);
  return names.map((op, n) => {
    const dispose = () => kernels[n]!.dispose?.();
    return tensorContestant({ peer: polyhead, op, run: runs[n]!, check, times, dispose });
  });
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
    async enter(threads) {
      const [x, gradient] = [normal([1, R, I], 1) as tf.Tensor3D, normal([1, R, O], 2) as tf.Tensor3D];
      const weights = tf.variable(normal([I, O], 3)) as tf.Variable<tf.Rank.R2>;
      const call = { x, weights, transposed: false, sizes: { rows: R, inDim: I, outDim: O } };
      const runWith = (kernel: ProductKernel): Run =>
        gradients
          ? () => tf.tidy(() => Object.values(kernel.gradients(call, gradient)) as tf.Tensor[])
          : () => project(x, weights, undefined, { products: kernel });
      const entries: Entry[] = [...(await byProducts([dense, plain, byTfjs], runWith, { threads, times }))];
      if (!gradients) {
        const run = () => tf.matMul(x, weights as tf.Tensor);
        entries.push(tensorContestant({ ...tfjsMatMul, run, times }));
        const onnx = matMul({ data: x.dataSync<'float32'>(), dims: x.shape }, weights.dataSync<'float32'>());
        const check = againstNumbers([tf.tidy(() => run().dataSync<'float32'>())]);
        for (const peer of onnxPeers)
          entries.push(...(await onnxEntries(peer, [onnx], { threads, check, times })));
      }
      // One row is bound by memory.
      if (R > 1) entries.push(...(await peaksOf((gradients ? 4 : 2) * R * I * O * times)));
      return { entries, dispose: () => tf.dispose([x, gradient, weights]) };
    },
  };
}

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

const overOnnx = onnxPeers.map((peer): Gate => ({ ours: dense, peer, measure: 'speed' }));

const fused = 'relaxed multiply-add';
const apart = 'multiply, then add';

/** A whole layer of attention, 8 heads of 64, on a prompt. */
async function enterLayer(threads: number): Promise<Entered> {
  const kernel = await kernelUnderTest('flash', threads);
  const x = normal([1, 2048, 512], 1);
  const layerBy = (own: ProductKernel): Run => {
    const layer = new MultiHeadAttention(
      { embedDim: 512, numHeads: 8, useBias: false, seed: 1 },
      { kernel, products: own, position: rotary({ headDim: 64 }) },
    );
    return () => layer.apply({ query: x }, { mask: causal() }).output;
  };
  const dispose = () => {
    kernel.dispose?.();
    x.dispose();
  };
  return { entries: await byProducts([dense, byTfjs], layerBy, { threads }), dispose };
}

/** Loss and gradients of the repository's decoder of 0.7 million numbers, 1,024 tokens, with flash. */
async function enterTraining(threads: number): Promise<Entered> {
  const S = 1024;
  const model = createOwnModel();
  const kernel = await kernelUnderTest('flash', threads);
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
    kernel.dispose?.();
    input.dispose();
    model.dispose();
  };
  return { entries: await byProducts([dense, byTfjs], stepBy, { threads }), dispose };
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
      ...overOnnx,
    ],
  }),
  productContest({
    work: 'products, [16, 512] by [512, 512]',
    sizes: [16, 512, 512],
    times: 50,
    gates: [
      overMatMul(dense, 1.4, 1.8),
      overMatMul(plain),
      shareOf(dense, fused),
      shareOf(plain, apart),
      ...overOnnx,
    ],
  }),
  productContest({
    work: 'products, one row by [4096, 4096]',
    sizes: [1, 4096, 4096],
    times: 4,
    gates: [overMatMul(dense, 1.1, 1.5), overMatMul(plain), ...overOnnx],
  }),
  storedProducts,
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
