import { QuantizedWeights } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { afterEach, describe, expect, it } from 'vitest';
import { missingPeer } from '../../../../scripts/peers/import-peer';
import { noise } from '../measure/noise';
import { allowedError, relativeError } from '../measure/relative-error';
import type { Contestant } from './contestant';
import { fourBitWeights, q41Blocks } from './four-bit-weights';
import { matMul, matMulNBits } from './onnx-products';
import type { OnnxWork } from './onnx-work';
import { onnxEntries, onnxPeers } from './peers/onnxruntime';

const [R, I, O] = [3, 64, 6];
const data = noise(R * I, { seed: 1, limit: 1 });
const rows = { data, dims: [1, R, I] };

/** rows · weights, in doubles: [R, O] */
function productOf(weightAt: (i: number, o: number) => number): Float64Array {
  return Float64Array.from({ length: R * O }, (_, n) => {
    const [r, o] = [Math.floor(n / O), n % O];
    let sum = 0;
    for (let i = 0; i < I; i++) sum += data[r * I + i]! * weightAt(i, o);
    return sum;
  });
}

const four = fourBitWeights(O, I);
const fourAt = (i: number, o: number) => {
  const block = (o * I) / 32 + Math.floor(i / 32);
  return four.scales[block]! * (four.numbers[o * I + i]! - four.zeros[block]!);
};

afterEach(() => tf.disposeVariables());

it('writes weights of 4 bits as blocks of Q4_1 that stand for the same numbers', () => {
  const stored = QuantizedWeights.fromBlocks('Q4_1', [O, I], q41Blocks(four));
  const floats = stored.toFloats();
  const expected = Array.from({ length: O * I }, (_, n) => fourAt(n % I, Math.floor(n / I)));
  expect([...floats.dataSync()]).toEqual(expected);
  tf.dispose(floats);
  stored.dispose();
});

describe.each(onnxPeers)('%s', (peer) => {
  async function errorOf(work: OnnxWork, expected: Float64Array): Promise<number> {
    const check = ([output]: readonly Float32Array[]) => relativeError(output!, expected);
    const [entry] = await onnxEntries(peer, [work], { threads: 1, check });
    expect(entry).not.toHaveProperty('reason');
    const contestant = entry as Required<Contestant>;
    const error = await contestant.error();
    await contestant.dispose();
    return error;
  }

  it('multiplies with floats, and with numbers of 8 and 4 bits', { timeout: 60_000 }, async ({ skip }) => {
    skip(missingPeer(peer) !== undefined, missingPeer(peer));
    const floats = noise(I * O, { seed: 2, limit: 1 });
    const byFloats = productOf((i, o) => floats[i * O + o]!);
    expect(await errorOf(matMul(rows, floats), byFloats)).toBeLessThan(allowedError);
    const numbers = Uint8Array.from({ length: O * I }, (_, n) => (n * 37) & 255);
    const scales = noise((O * I) / 32, { seed: 3, limit: 1 });
    const eightAt = (i: number, o: number) =>
      scales[(o * I) / 32 + Math.floor(i / 32)]! * (numbers[o * I + i]! - 128);
    for (const [weights, at] of [
      [{ numbers, scales }, eightAt],
      [four, fourAt],
    ] as const) {
      const expected = productOf(at);
      const exact = matMulNBits(rows, weights, { rowsIn8Bits: false });
      const rounded = matMulNBits(rows, weights, { rowsIn8Bits: true });
      expect(await errorOf(exact, expected)).toBeLessThan(allowedError);
      expect(await errorOf(rounded, expected)).toBeLessThan(2 ** -6);
    }
  });
});
