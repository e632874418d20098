// onnxruntime's products of rows with weights that it knows before it runs.
import type { FourBitWeights } from './four-bit-weights';
import { type Constant, type ModelValue, microsoft, oneNode } from './onnx-model';
import type { OnnxWork } from './onnx-work';

export interface RowsOfNumbers {
  readonly data: Float32Array;
  /** [1, R, I] */
  readonly dims: readonly number[];
}

/** @param weights [I, O] */
export function matMul(rows: RowsOfNumbers, weights: Float32Array): OnnxWork {
  const dims = [rows.dims.at(-1)!, weights.length / rows.dims.at(-1)!];
  const constant: Constant = { name: 'weights', type: 'float32', dims, data: weights };
  return productOf('MatMul', rows, { op: 'MatMul', attributes: {}, constants: [constant] });
}

/** Weights of 8 bits, O rows of I numbers: scale · (number - 128), a scale for each 32. */
export interface EightBitWeights {
  /** [O, I] */
  readonly numbers: Uint8Array;
  /** [O, I / 32] */
  readonly scales: Float32Array;
}

/**
 * onnxruntime's own operator. By rows in 8 bits it is fastest: each 32 numbers of a row are rounded to 255 steps.
 *
 * @see https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MatMulNBits
 */
export function matMulNBits(
  rows: RowsOfNumbers,
  weights: EightBitWeights | FourBitWeights,
  { rowsIn8Bits }: { readonly rowsIn8Bits: boolean },
): OnnxWork {
  const { numbers, scales } = weights;
  const isFour = 'zeros' in weights;
  const bits = isFour ? 4 : 8;
  const K = rows.dims.at(-1)!;
  const N = numbers.length / K;
  const blocks = K / 32;
  const constants: Constant[] = [
    {
      name: 'weights',
      type: 'uint8',
      dims: [N, blocks, 4 * bits],
      data: isFour ? inHalves(numbers) : numbers,
    },
    { name: 'scales', type: 'float32', dims: [N * blocks], data: scales },
    ...(isFour
      ? [{ name: 'zeros', type: 'uint8', dims: [(N * blocks) / 2], data: inHalves(weights.zeros) } as const]
      : []),
  ];
  const accuracy = rowsIn8Bits ? 4 : 1; // in the operator's own numbers: int8, float32
  const name = `MatMulNBits, ${bits} bits${rowsIn8Bits ? ', rows in 8 bits' : ''}`;
  const attributes = { K, N, bits, block_size: 32, accuracy_level: accuracy };
  return productOf(name, rows, { op: 'MatMulNBits', domain: microsoft, attributes, constants });
}

function productOf(
  name: string,
  { data, dims }: RowsOfNumbers,
  node: Pick<Parameters<typeof oneNode>[0], 'op' | 'domain' | 'attributes' | 'constants'>,
): OnnxWork {
  const float = { type: 'float32' } as const;
  const output: ModelValue = { name: 'output', ...float, dims: [...dims.slice(0, -1), 'O'] };
  const rows = { name: 'rows', ...float, dims, data };
  return { name, graph: oneNode({ ...node, inputs: [rows], outputs: [output] }), feeds: [rows] };
}

/** Two numbers a byte, the first in its low half. */
function inHalves(numbers: Uint8Array): Uint8Array {
  return Uint8Array.from(
    { length: numbers.length / 2 },
    (_, n) => numbers[2 * n]! | (numbers[2 * n + 1]! << 4),
  );
}
