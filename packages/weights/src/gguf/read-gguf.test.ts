// Blocks and a file that gguf-py 0.10.0 has written, and what it reads in them.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import file from '../fixtures/gguf-blocks.json';
import { readGguf } from './read-gguf';
import { tensorTypes } from './tensor-types';

interface Case {
  readonly type: string;
  readonly id: number;
  readonly shape: readonly number[];
  /** In base64. Absent for single numbers. */
  readonly bytes?: string;
  /** The first of them. */
  readonly numbers: readonly number[];
  readonly last?: number;
  /** Of all. */
  readonly sum?: number;
}

const cases: readonly Case[] = file.cases;
const blocks = new Uint8Array(readFileSync(new URL('../fixtures/gguf-blocks.gguf', import.meta.url)));

function expectNumbers(numbers: Float32Array, { numbers: first, last, sum }: Case): void {
  // The file of expected numbers does not tell 0 from -0.
  expect([...numbers.subarray(0, first.length)].map((x) => x + 0)).toEqual(first.map((x) => x + 0));
  if (last !== undefined) expect(numbers.at(-1)).toBe(last);
  // The sum is a float64 of float32 numbers: exact but for its own rounding.
  if (sum !== undefined) expect(numbers.reduce((total, x) => total + x, 0)).toBeCloseTo(sum, 6);
}

describe('numbers of GGUF are exactly those that gguf-py reads', () => {
  it.each(cases.filter(({ bytes }) => bytes))('$type', (found) => {
    const { name, numberType } = tensorTypes.get(found.id)!;
    expect(name).toBe(found.type);
    expectNumbers(numberType.decode(Uint8Array.from(Buffer.from(found.bytes!, 'base64'))), found);
  });

  it.each(cases)('$type in a file', async (found) => {
    const checkpoint = await readGguf(blocks);
    const name = [...checkpoint.tensors.keys()].find((key) => key.endsWith(`.${found.type}`))!;
    expect(checkpoint.tensors.get(name)).toMatchObject({ type: found.type, shape: found.shape });
    expectNumbers(await checkpoint.read(name), found);
  });

  it('and blocks can be had as they lie', async () => {
    const checkpoint = await readGguf(blocks);
    const found = cases.find(({ type }) => type === 'Q4_K')!;
    const bytes = await checkpoint.readBytes('blocks.Q4_K');
    expect(Buffer.from(bytes).toString('base64')).toBe(found.bytes);
  });
});

describe('readGguf', () => {
  it('reads metadata of every kind', async () => {
    const { metadata, format } = await readGguf(blocks);
    expect(format).toBe('gguf');
    expect(Object.fromEntries(metadata)).toEqual({
      'general.architecture': 'test',
      'general.name': 'blocks of every type',
      'test.number': 7,
      'test.list': ['a', 'b', 'ü'],
    });
  });
});
