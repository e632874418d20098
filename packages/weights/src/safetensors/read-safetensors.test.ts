import { describe, expect, it } from 'vitest';
import { FileError } from '../errors';
import { safetensorsOf, withHeader } from '../fixtures/safetensors-of';
import { readSafetensors } from './read-safetensors';
import { writeSafetensors } from './write-safetensors';

const one = new Float32Array([1.5]);
const entry = (shape: unknown, offsets: unknown, dtype: unknown = 'F32') => ({
  dtype,
  shape,
  data_offsets: offsets,
});
const file = (header: object, numbers = 0) => withHeader(JSON.stringify(header), [new Float32Array(numbers)]);

describe('a broken safetensors file is refused by name', () => {
  const broken: Readonly<Record<string, readonly [Uint8Array, RegExp]>> = {
    'nothing at all': [new Uint8Array(0), /8 bytes/],
    'shorter than its length': [new Uint8Array(3), /8 bytes/],
    'a header of 2^63 bytes': [withHeader('{}', [], 2n ** 63n), /within the file/],
    'a header beyond the end': [withHeader('{}', [], 99n), /within the file/],
    'no JSON': [withHeader('{'), /JSON object/],
    'JSON nested without end': [withHeader('['.repeat(100_000)), /JSON object/],
    'an array': [withHeader('[]'), /JSON object/],
    'bytes that are no UTF-8': [Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0, 0xff), /JSON object/],
    'an unknown type': [file({ a: entry([1], [0, 4], 'F8') }, 1), /a: dtype must be one of F64, F32/],
    'a type of all objects': [file({ a: entry([1], [0, 4], 'toString') }, 1), /a: dtype/],
    'an entry that is null': [file({ a: null }), /a: dtype/],
    'a negative size': [file({ a: entry([-1], [0, 4]) }, 1), /a: shape/],
    'a size that is a text': [file({ a: entry(['1'], [0, 4]) }, 1), /a: shape/],
    'a size of 1e300': [file({ a: entry([1e300], [0, 4]) }, 1), /a: shape/],
    'sizes beyond 2^53': [file({ a: entry([2 ** 31, 2 ** 31, 4], [0, 0]) }), /a: data_offsets/],
    'places that are texts': [file({ a: entry([1], ['0', '4']) }, 1), /a: data_offsets/],
    'places that are too far apart': [file({ a: entry([1], [0, 8]) }, 2), /a: data_offsets/],
    overlap: [file({ a: entry([1], [0, 4]), b: entry([1], [0, 4]) }, 1), /b: tensors must lie side by side/],
    'a hole': [file({ a: entry([1], [4, 8]) }, 2), /a: tensors must lie side by side/],
    'a tensor beyond the end': [file({ a: entry([9], [0, 36]) }, 1), /fill the file/],
    'bytes behind the last tensor': [file({ a: entry([1], [0, 4]) }, 2), /fill the file/],
    'metadata that are numbers': [file({ __metadata__: { a: 1 } }), /texts/],
  };

  it.each(Object.entries(broken))('%s', async (_, [bytes, message]) => {
    const opened = readSafetensors(bytes);
    await expect(opened).rejects.toThrow(FileError);
    await expect(opened).rejects.toThrow(message);
  });

  it('and what is no file', async () => {
    for (const wrong of [null, undefined, 'model.safetensors', 3, {}])
      await expect(readSafetensors(wrong as never)).rejects.toThrow(/must be bytes, a Blob/);
  });
});

describe('readSafetensors', () => {
  it('holds names apart from properties of objects', async () => {
    const header = '{"__proto__":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}';
    const checkpoint = await readSafetensors(withHeader(header, [one]));
    expect([...checkpoint.tensors.keys()]).toEqual(['__proto__']);
    expect([...(await checkpoint.read('__proto__'))]).toEqual([1.5]);
    expect(({} as Record<string, unknown>).dtype).toBeUndefined();
    await expect(checkpoint.read('toString')).rejects.toThrow(/must have the tensor/);
  });

  it('reads every type of numbers', async () => {
    const stored: Readonly<Record<string, readonly [ArrayBufferView, readonly number[]]>> = {
      F64: [new Float64Array([0.1, -2]), [Math.fround(0.1), -2]],
      F32: [new Float32Array([0.1, -2]), [Math.fround(0.1), -2]],
      // 1, the largest, the smallest normal, the smallest of all, −∞
      F16: [
        new Uint16Array([0x3c00, 0x7bff, 0x0400, 0x0001, 0xfc00]),
        [1, 65504, 2 ** -14, 2 ** -24, -Infinity],
      ],
      BF16: [new Uint16Array([0x3f80, 0xc000, 0x7f80]), [1, -2, Infinity]],
      I64: [new BigInt64Array([-3n, 2n ** 40n]), [-3, 2 ** 40]],
      U64: [new BigUint64Array([2n ** 63n]), [2 ** 63]],
      I32: [new Int32Array([-(2 ** 31), 7]), [-(2 ** 31), 7]],
      U32: [new Uint32Array([2 ** 31]), [2 ** 31]],
      I16: [new Int16Array([-300]), [-300]],
      U16: [new Uint16Array([60000]), [60000]],
      I8: [new Int8Array([-128, 127]), [-128, 127]],
      U8: [new Uint8Array([200]), [200]],
      BOOL: [new Uint8Array([0, 1, 2]), [0, 1, 1]],
    };
    let end = 0;
    const header = Object.entries(stored).map(([dtype, [data, numbers]]) => {
      const offsets = [end, end + data.byteLength];
      end += data.byteLength;
      return [dtype, entry([numbers.length], offsets, dtype)] as const;
    });
    const bytes = Object.values(stored).flatMap(([{ buffer }]) => [...new Uint8Array(buffer as ArrayBuffer)]);
    const head = withHeader(JSON.stringify(Object.fromEntries(header)));
    const checkpoint = await readSafetensors(Uint8Array.from([...head, ...bytes]));
    for (const [type, [, numbers]] of Object.entries(stored))
      expect([...(await checkpoint.read(type))]).toEqual(numbers);
  });

  it('refuses whole numbers that float32 does not hold, and gives them as they lie', async () => {
    const head = withHeader(JSON.stringify({ steps: entry([1], [0, 8], 'I64') }));
    const stored = new Uint8Array(new BigInt64Array([2n ** 24n + 1n]).buffer);
    const checkpoint = await readSafetensors(Uint8Array.from([...head, ...stored]));
    await expect(checkpoint.read('steps')).rejects.toThrow(/fit into float32/);
    expect(await checkpoint.readBytes('steps')).toEqual(stored);
  });

  it('reads scalars and empty tensors', async () => {
    const tensors = {
      scalar: { shape: [], numbers: one },
      empty: { shape: [0, 3], numbers: new Float32Array(0) },
    };
    const checkpoint = await readSafetensors(safetensorsOf(tensors));
    expect([...(await checkpoint.read('scalar'))]).toEqual([1.5]);
    expect((await checkpoint.read('empty')).length).toBe(0);
  });

  it('gives arrays of its own, which the caller may change', async () => {
    const bytes = safetensorsOf({ a: { shape: [1], numbers: one } });
    const checkpoint = await readSafetensors(Buffer.from(bytes.buffer));
    (await checkpoint.read('a'))[0] = 9;
    expect([...(await checkpoint.read('a'))]).toEqual([1.5]);
  });
});

describe('writeSafetensors', () => {
  const tensors = { __proto__a: [1, 2, 3], 'b.weight': [4] };
  const entries = Object.entries({ ...tensors }).map(
    ([name, numbers]) => [name, { shape: [numbers.length], numbers: Float32Array.from(numbers) }] as const,
  );

  it('writes what readSafetensors reads, numbers at a multiple of 8', async () => {
    const own = [['__proto__', { shape: [1, 1], numbers: one }] as const, ...entries];
    const bytes = writeSafetensors(own, { metadata: { format: 'tf' } });
    expect(Number(new DataView(bytes.buffer).getBigUint64(0, true)) % 8).toBe(0);
    const checkpoint = await readSafetensors(bytes);
    expect(checkpoint.metadata).toEqual(new Map([['format', 'tf']]));
    expect([...checkpoint.tensors.keys()]).toEqual(own.map(([name]) => name));
    for (const [name, { shape, numbers }] of own) {
      expect(checkpoint.tensors.get(name)!.shape).toEqual(shape);
      expect(await checkpoint.read(name)).toEqual(numbers);
    }
  });

  it('rounds to the nearest 16-bit number, and of two to the even one', async () => {
    const numbers = Float32Array.of(
      1 + 2 ** -11,
      1 + 3 * 2 ** -11,
      65519,
      65520,
      2 ** -25,
      3 * 2 ** -25,
      -0.1,
      NaN,
    );
    const half = [1, 1 + 2 ** -9, 65504, Infinity, 0, 2 ** -23, -0.0999755859375, NaN];
    const brain = [1, 1, 65536, 65536, 2 ** -25, 3 * 2 ** -25, -0.10009765625, NaN];
    for (const [type, expected] of [
      ['F16', half],
      ['BF16', brain],
    ] as const) {
      const checkpoint = await readSafetensors(writeSafetensors([['a', { shape: [8], numbers }]], { type }));
      expect([...(await checkpoint.read('a'))]).toEqual(expected);
    }
  });

  it('keeps every float16 number as it is', async () => {
    const bits = Uint16Array.from({ length: 2 ** 16 }, (_, n) => n);
    const head = withHeader(JSON.stringify({ a: entry([2 ** 16], [0, 2 ** 17], 'F16') }));
    const bytes = new Uint8Array(head.length + 2 ** 17);
    bytes.set(head);
    bytes.set(new Uint8Array(bits.buffer), head.length);
    const numbers = await (await readSafetensors(bytes)).read('a');
    const again = await readSafetensors(
      writeSafetensors([['a', { shape: [2 ** 16], numbers }]], { type: 'F16' }),
    );
    const back = new Uint16Array((await again.readBytes('a')).buffer);
    const differs = bits.filter((bit, n) => !Number.isNaN(numbers[n]!) && bit !== back[n]);
    expect(differs.length).toBe(0);
  });

  it('refuses numbers that do not fill the shape, and other types', () => {
    expect(() => writeSafetensors([['a', { shape: [2], numbers: one }]])).toThrow(/as many float32 numbers/);
    expect(() => writeSafetensors([['__metadata__', { shape: [1], numbers: one }]])).toThrow(/may be called/);
    expect(() => writeSafetensors([], { type: 'I8' as never })).toThrow(/type must be/);
  });
});

describe('an index of several files', () => {
  const files: Readonly<Record<string, Uint8Array>> = {
    'model-1.safetensors': safetensorsOf({ a: { shape: [1], numbers: one } }),
    'model-2.safetensors': safetensorsOf({
      b: { shape: [2], numbers: Float32Array.of(2, 3) },
      c: { shape: [1], numbers: one },
    }),
  };
  const map = { a: 'model-1.safetensors', b: 'model-2.safetensors' };

  it('reads as one checkpoint', async () => {
    const index = { metadata: { total_size: 12 }, weight_map: map };
    const checkpoint = await readSafetensors(index, (name) => files[name]!);
    expect([...checkpoint.tensors.keys()]).toEqual(['a', 'b']);
    expect([...(await checkpoint.read('b'))]).toEqual([2, 3]);
    expect((await checkpoint.readBytes('a')).length).toBe(4);
    expect(checkpoint.metadata.get('total_size')).toBe(12);
  });

  it('must fit its files, and not lead out of their folder', async () => {
    const wrong = readSafetensors({ weight_map: { z: 'model-1.safetensors' } }, (name) => files[name]!);
    await expect(wrong).rejects.toThrow(/the index says/);
    for (const name of ['../secret', 'a/b', '..', 'C:\\x', '', 3]) {
      const outside = readSafetensors(
        { weight_map: { a: name as string } },
        () => files['model-1.safetensors']!,
      );
      await expect(outside).rejects.toThrow(/without a folder/);
    }
    await expect(readSafetensors({ weight_map: map })).rejects.toThrow(/opens a file/);
  });
});
