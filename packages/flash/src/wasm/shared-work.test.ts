// What several threads compute is what one computes.
import {
  attentionCase,
  attentionOracle,
  type CaseRow,
  expectClose,
  expectFlatHeap,
  expectSameMemory,
  memoryNow,
  randomTensor,
  seededRandom,
  toHost,
  toTensor,
  toTensors,
} from '@polyhead/conformance';
import {
  type AttendOptions,
  type AttentionInputs,
  type AttentionKernel,
  attend,
  causal,
  firstSupported,
} from '@polyhead/core';
import { StaticCache } from '@polyhead/kv-cache';
import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { isWasm } from '../fixtures/fused-kernel';
import { flashWasm } from '../wasm';

const alone = flashWasm();
const [two, three, four] = [2, 3, 4].map((threads) => flashWasm({ threads })) as [
  AttentionKernel,
  AttentionKernel,
  AttentionKernel,
];

const sizes = { B: 2, Hq: 4, Hkv: 2, Sq: 203, Skv: 210, D: 72, Dv: 68 };

type Tensors = { readonly [name: string]: tf.Tensor };

function split({ query, key, value, ...rest }: Tensors): [AttentionInputs, AttendOptions] {
  const { bias, sinkLogits, biasTable, keyTable, queryTable, valueTable } = rest;
  const index = { from: -3 };
  const relative = {
    ...(biasTable && { bias: { table: biasTable as tf.Tensor2D, index } }),
    ...(keyTable && { keys: { table: keyTable as tf.Tensor3D, index } }),
    ...(queryTable && { queries: { table: queryTable as tf.Tensor3D, index } }),
    ...(valueTable && { values: { table: valueTable as tf.Tensor3D, index } }),
  };
  return [
    { query: query as tf.Tensor4D, key: key as tf.Tensor4D, value: value as tf.Tensor4D },
    {
      ...(bias && { bias: bias as tf.Tensor4D }),
      ...(sinkLogits && { sinkLogits: sinkLogits as tf.Tensor1D }),
      relative,
    },
  ];
}

function noteOf(kernel: AttentionKernel, inputs: AttentionInputs, options: AttendOptions): string {
  return firstSupported([kernel]).explain(inputs, options)[0]!.notes.join();
}

function numbersOf(kernel: AttentionKernel, inputs: AttentionInputs, options: AttendOptions) {
  const { output, logSumExp } = attend(kernel, inputs, { ...options, returns: ['logSumExp'] });
  return { output: toHost(output), logSumExp: toHost(logSumExp!) };
}

/** To the bit; a list of all numbers is of no help. */
function expectSame(actual: object, expected: object): void {
  for (const [name, wanted] of Object.entries(expected) as [keyof typeof actual, Float64Array][]) {
    const numbers = actual[name] as Float64Array;
    const first = wanted.findIndex((x, n) => !Object.is(x, numbers[n]));
    expect([name, numbers.length, first]).toEqual([name, wanted.length, -1]);
  }
}

const rows: readonly Omit<CaseRow, 'sizes'>[] = [
  {},
  { mask: 'causal', softcap: 2, sinkLogits: true, dropout: 0.3 },
  { mask: 'causal dense [1, Hq, Sq, Skv]', bias: '[B, 1, 1, Skv] hiding keys' },
  { mask: 'left padding', bias: '[1, Hq, Sq, Skv]' },
];

describe('several threads', () => {
  beforeEach(({ skip }) => skip(!isWasm, 'only the kernel for wasm has threads'));
  beforeAll(async () => {
    for (const kernel of [alone, two, three, four]) await kernel.prepare!();
  });
  afterAll(() => {
    for (const kernel of [two, three, four]) kernel.dispose!();
  });

  it.each(rows)('give the numbers of one, to the bit: %o', (row) => {
    const testCase = attentionCase({ ...row, sizes });
    const [inputs, tensors] = split(toTensors(testCase.arrays));
    const options = { ...testCase.options(), ...tensors };
    const expected = numbersOf(alone, inputs, options);
    for (const [threads, kernel] of [two, three, four].entries()) {
      expect(noteOf(kernel, inputs, options)).toContain(`${threads + 2} threads`);
      expectSame(numbersOf(kernel, inputs, options), expected);
    }
  });

  it("give the oracle's", () => {
    const testCase = attentionCase({ mask: 'causal', sizes });
    const [inputs] = split(toTensors(testCase.arrays));
    const { output, logSumExp, maxAbsScore } = attentionOracle(testCase.oracle);
    const actual = numbersOf(three, inputs, testCase.options());
    expectClose({ actual, expected: { output, logSumExp }, maxAbsScore });
  });

  it.each([
    ['none', []],
    ['of biases and keys', ['biasTable', 'keyTable']],
    ['of queries and values', ['queryTable', 'valueTable']],
  ])('give the same gradients, with tables: %s', (_, tables) => {
    const { B, Hq, D, Dv } = sizes;
    const random = seededRandom(3);
    const all = {
      biasTable: randomTensor([Hq, 4], random),
      keyTable: randomTensor([1, 4, D], random),
      queryTable: randomTensor([Hq, 4, D], random),
      valueTable: randomTensor([1, 4, Dv], random),
    };
    const arrays = {
      ...attentionCase({ sizes, sinkLogits: true, bias: B === 2 ? '[B, Hq, Sq, Skv]' : 'none' }).arrays,
      ...Object.fromEntries(tables.map((name) => [name, all[name as keyof typeof all]])),
    };
    const names = Object.keys(arrays);
    const tensors = Object.values(arrays).map(toTensor);
    const gradientsBy = (kernel: AttentionKernel) => {
      const loss = (...tensors: tf.Tensor[]) => {
        const [inputs, options] = split(Object.fromEntries(names.map((name, n) => [name, tensors[n]!])));
        const result = attend(kernel, inputs, { ...options, mask: causal(), returns: ['logSumExp'] });
        return tf.add(tf.sum(tf.square(result.output)), tf.sum(result.logSumExp!)) as tf.Scalar;
      };
      return tf.grads(loss)(tensors).map(toHost);
    };
    const expected = gradientsBy(alone);
    for (const kernel of [two, four]) expectSame(gradientsBy(kernel), expected);
  });

  it('read what a cache stores', () => {
    const { B, Hq, Hkv, Sq, Skv, D, Dv } = sizes;
    const heads = (H: number, S: number, N: number, seed: number) =>
      tf.randomNormal<tf.Rank.R4>([B, H, S, N], 0, 1, 'float32', seed);
    const cache = new StaticCache({ batch: B, heads: Hkv, keySize: D, valueSize: Dv }, { capacity: Skv + 3 });
    cache.stage({ key: heads(Hkv, Skv, D, 1), value: heads(Hkv, Skv, Dv, 2) }).commit();
    const inputs = { query: heads(Hq, Sq, D, 3), stored: cache.read() };
    expect(noteOf(two, inputs, {})).toContain('2 threads');
    expectSame(numbersOf(two, inputs, {}), numbersOf(alone, inputs, {}));
    cache.dispose();
  });

  it('leave a small call to one, and one of a single tile', () => {
    const heads = (H: number, S: number) => tf.randomNormal<tf.Rank.R4>([1, H, S, 8], 0, 1, 'float32', S);
    const small = { query: heads(2, 3), key: heads(2, 5), value: heads(2, 5) };
    const tile = { query: heads(1, 64), key: heads(1, 50_000), value: heads(1, 50_000) };
    for (const inputs of [small, tile]) {
      expect(noteOf(two, inputs, {})).toMatch(/one thread: more would gain nothing here/);
      expectSame(numbersOf(two, inputs, {}), numbersOf(alone, inputs, {}));
    }
  });

  it('leave one token of decoding to one, where keys and values would have to be copied', () => {
    const heads = (H: number, S: number) => tf.randomNormal<tf.Rank.R4>([1, H, S, 64], 0, 1, 'float32', S);
    const inputs = { query: heads(16, 1), key: heads(4, 4096), value: heads(4, 4096) };
    expect(noteOf(two, inputs, {})).toMatch(/one thread/);
  });

  it('work for several kernels in turn, many times, in the same memory', () => {
    const [inputs] = split(toTensors(attentionCase({ sizes }).arrays));
    const options = { mask: causal() };
    const expected = toHost(attend(alone, inputs, options).output);
    const call = () => {
      for (const kernel of [two, three]) {
        expectSame({ output: toHost(attend(kernel, inputs, options).output) }, { output: expected });
      }
    };
    tf.tidy(call);
    const before = memoryNow();
    const grow = vi.spyOn(WebAssembly.Memory.prototype, 'grow');
    expectFlatHeap(call, 50);
    expect(grow).not.toHaveBeenCalled();
    grow.mockRestore();
    expectSameMemory(before);
  });
});
