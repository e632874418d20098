import { expect, it } from 'vitest';
import { chooseModel } from './choose-model';
import { planAttention } from './plan';
import { planLines } from './report';

const memory = { text: '1GiB', bytes: 2 ** 30 };
const lines = (name: string, width = 100) =>
  planLines(planAttention(chooseModel(name, {}), { context: 4096, batch: 1, memory }), width);

it('tells a decoder', () => {
  expect(lines('LLaMA-2 7B')).toEqual([
    'LLaMA-2 7B: 32 attention layers, 4,096 wide, 32 heads × 128, 32 key/value heads',
    'parameters of attention: 67,108,864 a layer, 2,147,483,648 in all',
    'their matrices as float32: 8 GiB; with the copies that wasm packs, 16 GiB',
    'source: Touvron et al. 2023, 2307.09288',
    '',
    'Keys and values of 1 sequence, all layers',
    // Of a head of 128 numbers: 128 bytes and a scale; 64 bytes, 4 scales and 4 zeros.
    'context             float32       float16          int8          int4   quantized-8   quantized-4',
    '1 token               1 MiB       512 KiB       256 KiB       128 KiB       264 KiB       192 KiB',
    '1,024 tokens          1 GiB       512 MiB       256 MiB       128 MiB       264 MiB       192 MiB',
    '4,096 tokens          4 GiB         2 GiB         1 GiB       512 MiB      1.03 GiB       768 MiB',
    '16,384 tokens        16 GiB         8 GiB         4 GiB         2 GiB      4.13 GiB         3 GiB',
    'in 1GiB        1,024 tokens  2,048 tokens  4,096 tokens  8,192 tokens  3,971 tokens  5,461 tokens',
    '',
    'context              kivi-4', // the same, and 32 keys or more of 512 bytes instead of 96
    '1 token             608 KiB',
    '1,024 tokens        205 MiB',
    '4,096 tokens        781 MiB',
    '16,384 tokens      3.01 GiB',
    'in 1GiB        5,381 tokens',
    'int8 and int4 without their scales',
    '',
    'Operations on 1 sequence, all layers',
    '             a prompt of 4,096 tokens  token 4,096 alone',
    'projections                17.6 TFLOP         4.29 GFLOP',
    'scores                     2.20 TFLOP         1.07 GFLOP',
    'values                     2.20 TFLOP         1.07 GFLOP',
    'together                   22.0 TFLOP         6.44 GFLOP',
  ]);
});

it('tells an encoder and a latent by what they have', () => {
  expect(lines('BERT-base').join('\n')).toContain('an encoder: it keeps no keys and values');
  const latent = lines('DeepSeek-V2').join('\n');
  expect(latent).toContain('60 attention layers, 5,120 wide, 128 heads from a latent, 576 numbers kept');
  // Its matrices by hand: queries down and up, keys and values down and up, output.
  const matrices = 5120 * 1536 + 1536 * 128 * 192 + 5120 * 576 + 512 * 128 * 256 + 128 * 128 * 5120;
  expect(latent).toContain(`${matrices.toLocaleString('en-US')} a layer`);
});

it('tells the parameters of GPT-3, with and without biases', () => {
  expect(lines('GPT-3 175B')[1]).toMatch(/604,028,928 a layer \(603,979,776 without biases\)/);
});

it('fits a narrow terminal', () => {
  const narrow = lines('LLaMA-2 7B', 50);
  const tables = narrow.filter((line) => /[KMG]iB {2}|FLOP|tokens {2}/.test(line));
  expect(Math.max(...tables.map((line) => line.length))).toBeLessThanOrEqual(50);
});
