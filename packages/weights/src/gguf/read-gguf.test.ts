// Blocks and a file that gguf-py 0.10.0 has written, and what it reads in them.
import { readFileSync } from 'node:fs';
import { UnsupportedError } from '@polyhead/core';
import { describe, expect, it } from 'vitest';
import { FileError } from '../errors';
import file from '../fixtures/gguf-blocks.json';
import { ggufOf, type Part, written } from '../fixtures/gguf-of';
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
  it.each(cases.filter(({ bytes }) => bytes))('$type', (block) => {
    const [name, numberType] = tensorTypes().get(block.id)!;
    expect(name).toBe(block.type);
    expectNumbers(numberType.decode(Uint8Array.from(Buffer.from(block.bytes!, 'base64'))), block);
  });

  it.each(cases)('$type in a file', async (block) => {
    const checkpoint = await readGguf(blocks);
    const name = [...checkpoint.tensors.keys()].find((key) => key.endsWith(`.${block.type}`))!;
    expect(checkpoint.tensors.get(name)).toMatchObject({ type: block.type, shape: block.shape });
    expectNumbers(await checkpoint.read(name), block);
  });

  it('and blocks can be had as they lie', async () => {
    const checkpoint = await readGguf(blocks);
    const block = cases.find(({ type }) => type === 'Q4_K')!;
    const bytes = await checkpoint.readBytes('blocks.Q4_K');
    expect(Buffer.from(bytes).toString('base64')).toBe(block.bytes);
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

  const tensor = (name: string, shape: readonly number[], [type, at]: readonly [number, number]) =>
    written(name, [4, shape.length], ...shape.map((size): Part => [8, size]), [4, type], [8, at]);

  it('reads values of every type, and arrays of arrays', async () => {
    const value = (key: string, type: number, ...parts: readonly Part[]) => written(key, [4, type], ...parts);
    const list = (type: number, ...parts: readonly Part[]): readonly Part[] => [
      [4, type],
      [8, parts.length],
      ...parts,
    ];
    const float32 = new Uint8Array(new Float32Array([0.5]).buffer);
    const float64 = new Uint8Array(new Float64Array([0.1]).buffer);
    const { metadata } = await readGguf(
      ggufOf({
        values: [
          value('u8', 0, [1, 255]),
          value('i8', 1, [1, -1n]),
          value('u16', 2, [2, 65535]),
          value('i16', 3, [2, -2n]),
          value('u32', 4, [4, 2 ** 32 - 1]),
          value('i32', 5, [4, -3n]),
          value('f32', 6, float32),
          value('bool', 7, [1, 1]),
          value('text', 8, '\ufeffß'),
          value('u64', 10, [8, 2n ** 60n]),
          value('i64', 11, [8, -4n]),
          value('f64', 12, float64),
          value('nested', 9, ...list(9, written(...list(4, [4, 1], [4, 2])), written(...list(8, 'x')))),
          value('__proto__', 0, [1, 7]),
        ],
      }),
    );
    expect([...metadata]).toEqual([
      ['u8', 255],
      ['i8', -1],
      ['u16', 65535],
      ['i16', -2],
      ['u32', 2 ** 32 - 1],
      ['i32', -3],
      ['f32', 0.5],
      ['bool', true],
      ['text', '\ufeffß'],
      ['u64', 2n ** 60n],
      ['i64', -4],
      ['f64', 0.1],
      ['nested', [[1, 2], ['x']]],
      ['__proto__', 7],
    ]);
  });

  it('reads headers longer than what it reads at first, of version 2, from a source', async () => {
    const token = (n: number) => `token ${n} of a long vocabulary`;
    const tokens = Array.from({ length: 40_000 }, (_, n) => token(n));
    const file = ggufOf({
      version: 2,
      values: [written('tokens', [4, 9], [4, 8], [8, tokens.length], ...tokens)],
      tensors: [tensor('a', [2, 1], [0, 0])],
      data: new Uint8Array(new Float32Array([1, 2]).buffer),
    });
    let read = 0;
    const checkpoint = await readGguf({
      size: file.length,
      readBytes: async (start, length) => {
        read += length;
        return file.slice(start, start + length);
      },
    });
    expect(file.length).toBeGreaterThan(2 ** 20);
    expect(read).toBeLessThanOrEqual(file.length);
    expect(checkpoint.metadata.get('tokens')).toEqual(tokens);
    expect(checkpoint.tensors.get('a')!.shape).toEqual([1, 2]);
    expect([...(await checkpoint.read('a'))]).toEqual([1, 2]);
  });

  const data = new Uint8Array(64);
  const huge = 2 ** 40;
  const wrong: Readonly<Record<string, readonly [Uint8Array, RegExp]>> = {
    'nothing at all': [new Uint8Array(0), /end within the file/],
    'another format': [new TextEncoder().encode('PK\u0003\u0004 and so on'), /must begin with GGUF/],
    'version 1': [ggufOf({ version: 1 }), /version must be 2 or 3/],
    'a big-endian version': [ggufOf({ version: 3 << 24 }), /version must be 2 or 3/],
    'a value of an unknown type': [
      ggufOf({ values: [written('k', [4, 13], [8, 0])] }),
      /types 0 to 12[\s\S]*13/,
    ],
    'a text longer than the file': [
      ggufOf({ values: [written('k', [4, 8], [8, huge])] }),
      /k must end within/,
    ],
    'an array longer than the file': [
      ggufOf({ values: [written('k', [4, 9], [4, 0], [8, huge], [8, 0])] }),
      /k must end within/,
    ],
    'a length of 2^63': [ggufOf({ values: [written('k', [4, 8], [8, 2n ** 63n])] }), /below 2\^53/],
    'arrays without end': [
      ggufOf({ values: [written('k', [4, 9], ...Array.from({ length: 9 }, () => written([4, 9], [8, 1])))] }),
      /nest at most/,
    ],
    'a key twice': [
      ggufOf({ values: [1, 2].map((n) => written('k', [4, 4], [4, n], new Uint8Array(0))) }),
      /once/,
    ],
    'a tensor twice': [
      ggufOf({ tensors: [tensor('a', [8], [0, 0]), tensor('a', [8], [0, 32])], data }),
      /name of its own/,
    ],
    'five axes': [ggufOf({ tensors: [tensor('a', [1, 1, 1, 1, 1], [0, 0])], data }), /at most 4 axes/],
    'an unknown type': [ggufOf({ tensors: [tensor('a', [8], [99, 0])], data }), /a must have a known type/],
    'rows that are no whole blocks': [
      ggufOf({ tensors: [tensor('a', [16, 2], [8, 0])], data }),
      /whole blocks of 32/,
    ],
    'a tensor beyond the end': [ggufOf({ tensors: [tensor('a', [17], [0, 0])], data }), /within the file/],
    'sizes beyond all numbers': [
      ggufOf({ tensors: [tensor('a', [huge, huge, huge], [0, 0])], data }),
      /within the file/,
    ],
    'tensors that overlap': [
      ggufOf({ tensors: [tensor('a', [8], [0, 0]), tensor('b', [8], [0, 28])], data }),
      /beside other tensors/,
    ],
    'an alignment of 0': [ggufOf({ values: [written('general.alignment', [4, 4], [4, 0])] }), /alignment/],
  };

  it.each(Object.entries(wrong))('%s is refused', async (_, [bytes, message]) => {
    const opened = readGguf(bytes);
    await expect(opened).rejects.toThrow(message);
    const error = await opened.catch((thrown: unknown) => thrown);
    expect(error instanceof FileError || error instanceof UnsupportedError).toBe(true);
  });

  it('counts of more than the file can hold are refused at once', async () => {
    const magic = new TextEncoder().encode('GGUF');
    for (const [tensors, values] of [
      [2 ** 50, 0],
      [0, 2 ** 50],
    ] as const) {
      const bytes = written(magic, [4, 3], [8, tensors], [8, values], new Uint8Array(64));
      await expect(readGguf(bytes)).rejects.toThrow(/must end within the file/);
    }
  });
});
