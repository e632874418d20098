// Files with flipped, cut and repeated bytes: what is opened of them is read, and what is refused is refused by an error of ours.
import { readFileSync } from 'node:fs';
import { seededRandom } from '@polyhead/conformance';
import { isAttentionError } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Checkpoint } from './checkpoint';
import { readGguf } from './gguf/read-gguf';
import { readSafetensors } from './safetensors/read-safetensors';
import { writeSafetensors } from './safetensors/write-safetensors';
import { readTorch } from './torch/read-torch';

const filesPerFormat = process.env.POLYHEAD_LONG ? 3500 : 150;

const fixture = (name: string) =>
  new Uint8Array(readFileSync(new URL(`./fixtures/${name}`, import.meta.url)));
const safetensors = writeSafetensors(
  Array.from({ length: 12 }, (_, n) => [
    `layers.${n}.weight`,
    { shape: [n + 1, 3], numbers: Float32Array.from({ length: 3 * n + 3 }, Math.sin) },
  ]),
  { metadata: { format: 'pt', steps: '3' } },
);

const formats: Readonly<Record<string, readonly [Uint8Array, (file: Uint8Array) => Promise<Checkpoint>]>> = {
  safetensors: [safetensors, readSafetensors],
  GGUF: [fixture('gguf-blocks.gguf'), readGguf],
  PyTorch: [fixture('checkpoint.pt'), readTorch],
};

/** Bytes that files hold where they are wrong: none, all, signs, and small counts. */
const bytes = [0, 1, 2, 9, 0x7f, 0x80, 0xfe, 0xff];

function damaged(file: Uint8Array, below: (end: number) => number): Uint8Array {
  if (below(8) === 0) return file.slice(0, below(file.length));
  const copy = file.slice();
  // Structure lies at the beginning, in zip files also at the end.
  const places = [file.length, Math.min(file.length, 1500), 400];
  for (let n = below(4); n >= 0; n--) {
    const distance = below(places[below(3)]!);
    const at = below(2) === 0 ? distance : file.length - 1 - distance;
    copy[at] = below(2) === 0 ? bytes[below(bytes.length)]! : below(256);
  }
  if (below(6) === 0) copy.copyWithin(below(file.length), below(file.length), below(file.length));
  return copy;
}

async function openAndRead(
  open: (file: Uint8Array) => Promise<Checkpoint>,
  file: Uint8Array,
): Promise<number> {
  const checkpoint = await open(file);
  let numbers = 0;
  for (const name of checkpoint.tensors.keys()) {
    try {
      numbers += (await checkpoint.read(name)).length;
    } catch (error) {
      if (!isAttentionError(error)) throw error;
    }
  }
  return numbers;
}

describe('a damaged file gives a result or an error of ours', () => {
  beforeEach(({ skip }) => skip(tf.getBackend() !== 'wasm', 'files are the same on every backend'));

  it.each(Object.entries(formats))(
    '%s',
    async (_, [file, open]) => {
      const random = seededRandom(20260);
      const below = (end: number) => Math.floor(random() * end);
      const counts = { opened: 0, refused: 0 };
      const memory = process.memoryUsage().rss;
      let slowest = 0;
      for (let n = 0; n < filesPerFormat; n++) {
        const start = performance.now();
        try {
          // No number takes less than two bits in a file, but those of PyTorch may share a storage.
          expect(await openAndRead(open, damaged(file, below))).toBeLessThan(60 * file.length);
          counts.opened += 1;
        } catch (error) {
          if (!isAttentionError(error)) throw error;
          counts.refused += 1;
        }
        slowest = Math.max(slowest, performance.now() - start);
      }
      expect(counts.opened).toBeGreaterThan(filesPerFormat / 100);
      expect(counts.refused).toBeGreaterThan(filesPerFormat / 10);
      expect(slowest).toBeLessThan(5000);
      expect(process.memoryUsage().rss - memory).toBeLessThan(2 ** 28);
    },
    300_000,
  );
});
