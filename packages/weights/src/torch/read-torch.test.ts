// Files that torch.save has written, and files that no library would write.
import { readFileSync } from 'node:fs';
import { UnsupportedError } from '@polyhead/core';
import { describe, expect, it } from 'vitest';
import { FileError } from '../errors';
import expected from '../fixtures/checkpoint.json';
import { zipOf } from '../fixtures/zip-of';
import { readTorch } from './read-torch';

const fixture = (name: string) =>
  new Uint8Array(readFileSync(new URL(`../fixtures/${name}`, import.meta.url)));
const entries = Object.entries<unknown>(expected.entries);
const isTensor = (entry: unknown): entry is { shape: number[]; numbers: number[] } =>
  typeof entry === 'object' && entry !== null;

describe('readTorch gives what torch gives', () => {
  it('names and values, in order', async () => {
    const { format, tensors, metadata } = await readTorch(fixture('checkpoint.pt'));
    expect(format).toBe('torch');
    expect([...tensors.keys()]).toEqual(entries.filter(([, entry]) => isTensor(entry)).map(([name]) => name));
    expect([...metadata]).toEqual(entries.filter(([, entry]) => !isTensor(entry)));
  });

  const tensors = entries.flatMap(([name, entry]) => (isTensor(entry) ? [[name, entry] as const] : []));
  it.each(tensors)('%s', async (name, { shape, numbers }) => {
    const checkpoint = await readTorch(fixture('checkpoint.pt'));
    expect(checkpoint.tensors.get(name)!.shape).toEqual(shape);
    expect([...(await checkpoint.read(name))]).toEqual(numbers);
  });

  it('bytes as they lie, where they lie row by row', async () => {
    const checkpoint = await readTorch(fixture('checkpoint.pt'));
    expect((await checkpoint.readBytes('views.rows')).length).toBe(2 * 6 * 4);
    await expect(checkpoint.readBytes('views.transposed')).rejects.toThrow(/row by row/);
  });

  it('and runs no code of a file', async () => {
    const whole = readTorch(fixture('module.pt'));
    await expect(whole).rejects.toThrow(UnsupportedError);
    await expect(whole).rejects.toThrow(/torch\.nn\.modules\.linear\.Linear; save model\.state_dict\(\)/);
  });
});

/** A program for the machine of pickles: texts as they are, numbers as bytes. */
function program(...parts: readonly (string | number)[]): Uint8Array {
  const bytes = parts.flatMap((part) =>
    typeof part === 'number' ? [part] : [...part].map((character) => character.charCodeAt(0)),
  );
  return Uint8Array.from([0x80, 2, ...bytes]);
}

const storage = new Uint8Array(new Float32Array([1, 2, 3, 4]).buffer);
const checkpoint = (pickle: Uint8Array, options = {}) =>
  zipOf(
    [
      { name: 'm/data.pkl', data: pickle },
      { name: 'm/data/0', data: storage },
    ],
    options,
  );

/** {"a": a tensor of float32} with these parts of a tensor's description. */
function tensorProgram({ count = 4, offset = 0, shape = [2, 2], strides = [2, 1] } = {}): Uint8Array {
  const tuple = (sizes: readonly number[]) => ['(', ...sizes.flatMap((size) => ['J', ...int32(size)]), 't'];
  return program(
    ...['}', 'U', 1, 'a', 'ctorch._utils\n_rebuild_tensor_v2\n', '(', '('],
    ...[
      'U',
      7,
      'storage',
      'ctorch\nFloatStorage\n',
      'U',
      1,
      '0',
      'U',
      3,
      'cpu',
      'J',
      ...int32(count),
      't',
      'Q',
    ],
    ...['J', ...int32(offset), ...tuple(shape), ...tuple(strides), '\x89', 'N', 't', 'R', 's', '.'],
  );
}

const int32 = (x: number) => [x & 255, (x >> 8) & 255, (x >> 16) & 255, (x >> 24) & 255];

describe('a zip file', () => {
  it('is read with and without the fields of zip64', async () => {
    for (const wide of [false, true]) {
      const opened = await readTorch(checkpoint(tensorProgram(), { wide }));
      expect([...(await opened.read('a'))]).toEqual([1, 2, 3, 4]);
    }
  });

  const wrong: Readonly<Record<string, readonly [Uint8Array, RegExp]>> = {
    nothing: [new Uint8Array(0), /must be a zip/],
    'no zip': [new Uint8Array(100), /must be a zip/],
    'without a pickle': [zipOf([{ name: 'm/x', data: storage }]), /must hold a data\.pkl/],
    'with compressed entries': [zipOf([{ name: 'm/data.pkl', data: storage, method: 8 }]), /is compressed/],
    'with an entry twice': [
      zipOf([
        { name: 'm/data.pkl', data: storage },
        { name: 'm/data.pkl', data: storage },
      ]),
      /name of its own/,
    ],
    'of big-endian numbers': [
      zipOf([
        { name: 'm/data.pkl', data: program('}', '.') },
        { name: 'm/byteorder', data: new TextEncoder().encode('big') },
      ]),
      /little-endian/,
    ],
    'whose wide end has no locator': [checkpoint(tensorProgram(), { wide: true }).slice(-22), /locator/],
    'cut in the middle': [checkpoint(tensorProgram()).slice(100), /./],
  };
  it.each(Object.entries(wrong))('%s is refused', async (_, [bytes, message]) => {
    await expect(readTorch(bytes)).rejects.toThrow(message);
  });
});

describe('a pickle', () => {
  const wrong: Readonly<Record<string, readonly [Uint8Array, RegExp]>> = {
    'that would run a command': [
      program('cos\nsystem\n', '(', 'U', 2, 'ls', 't', 'R', '.'),
      /asks for os\.system/,
    ],
    'that names it from the stack': [
      program('U', 2, 'os', 'U', 6, 'system', '\x93', '.'),
      /asks for os\.system/,
    ],
    'that builds an instance': [program('(', 'i', 'os\nsystem\n', '.'), /instruction 0x69/],
    'without an end': [program('}'), /must not end before/],
    'that takes from an empty stack': [program('s', '.'), /must be on the stack/],
    'that takes beyond a mark': [program('N', '(', '\x85', '.'), /must be on the stack/],
    'without its mark': [program('t', '.'), /mark must be/],
    'that recalls nothing': [program('h', 3, '.'), /no value 3/],
    'that calls a text': [program('U', 1, 'x', ')', 'R', '.'), /function and a tuple/],
    'that appends to a dictionary': [program('}', 'N', 'a', '.'), /must hold a Array/],
    'whose text is longer than it': [program('X', 255, 255, 255, 255, 'a', '.'), /must not end before/],
    'that holds itself': [program(']', 'q', 0, 'h', 0, 'a', '.'), /nest at most/],
    'that doubles thirty times': [
      program(']', ...Array.from({ length: 30 }, () => ['q', 0, 'h', 0, '\x86']).flat(), '.'),
      /come up too often/,
    ],
    'whose keys are dictionaries': [program('}', '}', 'N', 's', '.'), /texts or numbers/],
    'with a storage that is none': [program('N', 'Q', '.'), /a storage must have/],
    'with more numbers than its storage': [tensorProgram({ count: 5 }), /hold the numbers of its storage/],
    'with a negative count': [tensorProgram({ count: -1 }), /hold the numbers of its storage/],
    'with a tensor outside of its storage': [tensorProgram({ offset: 1 }), /within its storage/],
    'with negative strides': [tensorProgram({ strides: [-2, 1] }), /sizes and strides/],
    'with other strides than sizes': [tensorProgram({ strides: [1] }), /sizes and strides/],
    'with sizes of 2^31': [tensorProgram({ shape: [2 ** 31 - 1, 2 ** 31 - 1] }), /within its storage/],
    'that repeats numbers without end': [
      tensorProgram({ shape: [2 ** 31 - 1, 4], strides: [0, 1] }),
      /lie apart/,
    ],
  };
  it.each(Object.entries(wrong))('%s is refused', async (_, [pickle, message]) => {
    const opened = readTorch(checkpoint(pickle));
    await expect(opened).rejects.toThrow(message);
    const error = await opened.catch((thrown: unknown) => thrown);
    expect(error instanceof FileError || error instanceof UnsupportedError).toBe(true);
  });

  it('may hold names that objects have', async () => {
    const { metadata } = await readTorch(checkpoint(program('}', 'U', 9, '__proto__', 'K', 7, 's', '.')));
    expect(metadata).toEqual(new Map([['__proto__', 7]]));
  });
});
