// One row of numbers with weights at rest in 8 and 4 bits.
import { QuantizedWeights, tfjsProducts } from '@polyhead/core';
import { project } from '@polyhead/core/layer';
import { denseProducts } from '@polyhead/dense';
import * as tf from '@tensorflow/tfjs-core';
import { againstNumbers, type Check } from '../check';
import type { Contest, Entered } from '../contest';
import type { Entry } from '../contestant';
import { type FourBitWeights, fourBitWeights, q41Blocks } from '../four-bit-weights';
import type { Gate } from '../gate';
import { type EightBitWeights, matMulNBits } from '../onnx-products';
import { onnxEntries, onnxPeers } from '../peers/onnxruntime';
import { polyhead } from '../peers/polyhead';
import { overMatMul, tfjsMatMul } from '../peers/tfjs-wasm';
import { tensorContestant } from '../tensor-contestant';

const [size, times] = [4096, 4];

interface Stored {
  readonly op: string;
  readonly weights: QuantizedWeights;
  /** The same numbers for onnxruntime. */
  readonly forOnnx: EightBitWeights | FourBitWeights;
}

const int8 = 'dense, int8';
const q4 = 'dense, Q4_1';

function inEightBits(floats: tf.Tensor2D): Stored {
  const weights = QuantizedWeights.fromFloats(floats);
  const { blocks, scales } = weights.tensors;
  const signed = new Int8Array(blocks!.dataSync<'int32'>().slice().buffer);
  const numbers = Uint8Array.from(signed, (x) => x + 128);
  return { op: int8, weights, forOnnx: { numbers, scales: scales!.dataSync<'float32'>().slice() } };
}

function inFourBits(): Stored {
  const forOnnx = fourBitWeights(size, size);
  return { op: q4, weights: QuantizedWeights.fromBlocks('Q4_1', [size, size], q41Blocks(forOnnx)), forOnnx };
}

async function enter(threads: number): Promise<Entered> {
  const x = tf.randomNormal<tf.Rank.R3>([1, 1, size], 0, 1, 'float32', 1);
  const floats = tf.randomNormal<tf.Rank.R2>([size, size], 0, 1, 'float32', 3);
  const stored = [inEightBits(floats), inFourBits()];
  const products = denseProducts({ threads });
  await products.prepare!();
  const entries: Entry[] = [];
  for (const { op, weights, forOnnx } of stored) {
    const byFloats = () => project(x, weights, undefined, { products: tfjsProducts() });
    const compare = againstNumbers([tf.tidy(() => byFloats().dataSync<'float32'>().slice())]);
    const within =
      (share: number): Check =>
      (numbers) =>
        compare(numbers) < share ? 0 : 1;
    const run = () => project(x, weights, undefined, { products });
    // Ours rounds rows to 16 bits.
    entries.push(tensorContestant({ peer: polyhead, op, run, check: within(2 ** -12), times }));
    const rows = { data: x.dataSync<'float32'>(), dims: x.shape };
    for (const peer of onnxPeers) {
      for (const rowsIn8Bits of [false, true]) {
        const work = matMulNBits(rows, forOnnx, { rowsIn8Bits });
        const check = within(rowsIn8Bits ? 2 ** -6 : 2 ** -12);
        entries.push(...(await onnxEntries(peer, [work], { threads, check, times })));
      }
    }
  }
  entries.push(tensorContestant({ ...tfjsMatMul, run: () => tf.matMul(x, floats as tf.Tensor), times }));
  return {
    entries,
    dispose() {
      products.dispose!();
      for (const { weights } of stored) weights.dispose();
      tf.dispose([x, floats]);
    },
  };
}

const overOnnx = (ours: string, bits: number): readonly Gate[] =>
  onnxPeers.map((peer) => {
    const name = `MatMulNBits, ${bits} bits`;
    return { ours, peer, ops: [name, `${name}, rows in 8 bits`], measure: 'speed' };
  });

export const storedProducts: Contest = {
  work: 'products, one row by [4096, 4096] in 8 and 4 bits',
  runs: 9,
  gates: [overMatMul(int8, 2, 3.5), overMatMul(q4, 2, 3.5), ...overOnnx(int8, 8), ...overOnnx(q4, 4)],
  enter,
};
