// Files far larger than memory: what is read of them is their headers, and the tensors that are asked for.
import { isAttentionError } from '@polyhead/core';
import { describe, expect, it } from 'vitest';
import type { ByteSource } from './files/byte-source';
import { ggufOf, type Part, written } from './fixtures/gguf-of';
import { withHeader } from './fixtures/safetensors-of';
import { zipOf } from './fixtures/zip-of';
import { readGguf } from './gguf/read-gguf';
import { readSafetensors } from './safetensors/read-safetensors';
import { readTorch } from './torch/read-torch';

const tebibyte = 2 ** 40;

/** A file of so many bytes, which are 0 but for those at its beginning and its end. */
function largeFile(size: number, head: Uint8Array, tail: Uint8Array = Uint8Array.of()) {
  const reads: number[] = [];
  const readBytes = async (start: number, length: number) => {
    reads.push(length);
    const bytes = new Uint8Array(length);
    bytes.set(head.subarray(start, start + length));
    const from = size - tail.length;
    if (start + length > from)
      bytes.set(tail.subarray(Math.max(0, start - from), start + length - from), Math.max(0, from - start));
    return bytes;
  };
  return { source: { size, readBytes } satisfies ByteSource, reads };
}

const total = (reads: readonly number[]) => reads.reduce((sum, n) => sum + n, 0);

describe('of a file larger than memory only what is asked for is read', () => {
  it('safetensors', async () => {
    const places = { small: [0, 8], large: [8, tebibyte] };
    const entries = Object.entries(places).map(([name, [start = 0, end = 0]]) => [
      name,
      { dtype: 'F32', shape: [(end - start) / 4], data_offsets: [start, end] },
    ]);
    const header = withHeader(JSON.stringify(Object.fromEntries(entries)));
    const { source, reads } = largeFile(header.length + tebibyte, header);
    const checkpoint = await readSafetensors(source);
    expect(total(reads)).toBe(header.length);
    expect([...(await checkpoint.read('small'))]).toEqual([0, 0]);
    expect(reads.at(-1)).toBe(8);
    expect(checkpoint.tensors.get('large')!.byteLength).toBe(tebibyte - 8);
    const error = await checkpoint.read('large').catch((thrown: unknown) => thrown);
    expect(isAttentionError(error)).toBe(true);
  });

  it('GGUF', async () => {
    const tensor = (name: string, size: number, at: number) =>
      written(
        name,
        ...([
          [4, 1],
          [8, size],
          [4, 0],
          [8, at],
        ] satisfies Part[]),
      );
    const header = ggufOf({ tensors: [tensor('small', 2, 0), tensor('large', tebibyte / 8, 32)] });
    const { source, reads } = largeFile(tebibyte, header);
    const checkpoint = await readGguf(source);
    expect(total(reads)).toBeLessThanOrEqual(2 ** 20);
    await checkpoint.read('small');
    expect(reads.at(-1)).toBe(8);
  });

  it('PyTorch', async () => {
    const pickle = new TextEncoder().encode('}.');
    const tail = zipOf([{ name: 'm/data.pkl', data: pickle }], { wide: true, start: tebibyte });
    const { source, reads } = largeFile(tebibyte + tail.length, Uint8Array.of(), tail);
    const checkpoint = await readTorch(source);
    expect(checkpoint.tensors.size).toBe(0);
    expect(total(reads)).toBeLessThan(2 ** 17);
  });
});
