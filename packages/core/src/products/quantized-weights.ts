// A matrix of weights at rest in 8 or 4 bits a number.
import * as tf from '@tensorflow/tfjs-core';
import { addressOnHeap, hasWasmHeap, heapMemory } from '../backend/wasm-heap';
import { checkTensor } from '../checks/check-tensor';
import { ConfigError, ShapeError } from '../contract/errors';
import type { StoredWeights } from '../contract/products';
import { type BlockFormat, blockBytes, blockSize, decodeBlocks } from './blocks';

/** How `QuantizedWeights` are made. */
export interface QuantizeOptions {
  /** So many numbers of a row share a scale: a multiple of 32. Default: 32. */
  readonly groupSize?: number | undefined;
}

/**
 * Weights of 8 or 4 bits a number, [out, in]: each row is blocks of 32 numbers, the last filled up with zeros. They are read
 * where they lie by kernels that know them, and widened to floats for others. They are not trained.
 */
export class QuantizedWeights implements StoredWeights {
  readonly format: BlockFormat;
  readonly shape: readonly [number, number];
  /** `blocks`, the bytes four by four; of `int8` also `scales` [out, groups]. */
  readonly tensors: Readonly<Record<string, tf.Tensor>>;

  /** Of `int8`: blocks that share a scale. */
  readonly blocksPerScale: number;

  private constructor(
    {
      format,
      shape,
      blocksPerScale = 1,
    }: Pick<QuantizedWeights, 'format' | 'shape'> & { blocksPerScale?: number },
    bytes: Uint8Array,
    scales?: tf.Tensor2D,
  ) {
    this.format = format;
    this.shape = shape;
    this.blocksPerScale = blocksPerScale;
    this.tensors = {
      blocks: tf.keep(tf.tensor1d(wordsOf(bytes), 'int32')),
      ...(scales && { scales: tf.keep(scales) }),
    };
  }

  /**
   * Rows of blocks as a file of GGUF holds them.
   *
   * @param shape [out, in]; in is a multiple of 32
   * @throws ConfigError for a format that there is not; ShapeError for another number of bytes
   */
  static fromBlocks(
    format: Exclude<BlockFormat, 'int8'>,
    shape: readonly [number, number],
    bytes: Uint8Array,
  ): QuantizedWeights {
    const where = 'QuantizedWeights.fromBlocks';
    if (!Object.hasOwn(blockBytes, format) || (format as string) === 'int8')
      throw new ConfigError(where, 'format must be Q8_0, Q4_0 or Q4_1', { format });
    const [outDim, inDim] = shape;
    const needed = outDim * (inDim / blockSize) * blockBytes[format];
    if (inDim % blockSize !== 0 || bytes.length !== needed)
      throw new ShapeError(where, `rows must be whole blocks of ${blockSize} numbers`, {
        shape,
        bytes: bytes.length,
        'bytes needed': needed,
      });
    return new QuantizedWeights({ format, shape }, bytes);
  }

  /**
   * The nearest of 255 numbers to each weight, evenly spread up to the largest of its group: off by at most half a step.
   *
   * @param table [out, in], finite
   * @throws ShapeError for no such tensor; ConfigError for groups that are no multiple of 32
   */
  static fromFloats(table: tf.Tensor2D, { groupSize = blockSize }: QuantizeOptions = {}): QuantizedWeights {
    const where = 'QuantizedWeights.fromFloats';
    checkTensor(where, 'table', table, ['[out, in]']);
    if (!Number.isInteger(groupSize) || groupSize < 1 || groupSize % blockSize !== 0)
      throw new ConfigError(where, `groupSize must be a multiple of ${blockSize}`, { groupSize });
    const [outDim, inDim] = table.shape;
    const width = Math.ceil(inDim / blockSize) * blockSize;
    const groups = Math.ceil(width / groupSize);
    const floats = table.dataSync<'float32'>();
    const numbers = new Int8Array(outDim * width);
    const scales = new Float32Array(outDim * groups);
    for (let row = 0; row < outDim; row++) {
      for (let group = 0; group < groups; group++) {
        const end = Math.min(inDim, (group + 1) * groupSize);
        let largest = 0;
        for (let n = group * groupSize; n < end; n++)
          largest = Math.max(largest, Math.abs(floats[row * inDim + n]!));
        const scale = Math.fround(largest / 127);
        scales[row * groups + group] = scale;
        if (scale === 0) continue;
        for (let n = group * groupSize; n < end; n++)
          numbers[row * width + n] = Math.round(floats[row * inDim + n]! / scale);
      }
    }
    return new QuantizedWeights(
      { format: 'int8', shape: [outDim, inDim], blocksPerScale: groupSize / blockSize },
      new Uint8Array(numbers.buffer),
      tf.tensor2d(scales, [outDim, groups]),
    );
  }

  /** Bytes that it holds. */
  get byteSize(): number {
    return Object.values(this.tensors).reduce((sum, { size }) => sum + size * 4, 0);
  }

  /** Bytes from one row to the next. */
  get rowBytes(): number {
    return Math.ceil(this.shape[1] / blockSize) * blockBytes[this.format];
  }

  toFloats(rows?: ArrayLike<number>): tf.Tensor2D {
    const [outDim, inDim] = this.shape;
    const count = rows?.length ?? outDim;
    const bytes = bytesIn(this.tensors.blocks!);
    const scales = this.tensors.scales?.dataSync<'float32'>();
    const groups = this.tensors.scales?.shape[1] ?? 0;
    const floats = new Float32Array(count * inDim);
    for (let n = 0; n < count; n++) {
      const row = rows?.[n] ?? n;
      const scaleAt = (block: number) => scales![row * groups + Math.floor(block / this.blocksPerScale)]!;
      const own = bytes.subarray(row * this.rowBytes, (row + 1) * this.rowBytes);
      floats.set(decodeBlocks(this.format, own, scaleAt).subarray(0, inDim), n * inDim);
    }
    return tf.tensor2d(floats, [count, inDim]);
  }

  dispose(): void {
    for (const tensor of Object.values(this.tensors)) if (!tensor.isDisposed) tensor.dispose();
  }
}

/** The same bytes four by four: in a copy, unless tfjs makes one, and they lie so. */
function wordsOf(bytes: Uint8Array): Int32Array {
  if (hasWasmHeap() && bytes.length % 4 === 0 && bytes.byteOffset % 4 === 0)
    return new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const words = new Int32Array(Math.ceil(bytes.length / 4));
  new Uint8Array(words.buffer).set(bytes);
  return words;
}

/** Where its words lie, or a copy of them. */
function bytesIn(words: tf.Tensor): Uint8Array {
  if (hasWasmHeap()) {
    const address = addressOnHeap(words); // may move them here, and the heap with it
    return new Uint8Array(heapMemory()!.buffer, address, words.size * 4);
  }
  const numbers = words.dataSync<'int32'>();
  return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}
