// An ONNX model of one node, as the bytes that onnxruntime reads.

/** A tensor that goes in or comes out. */
export interface ModelValue {
  readonly name: string;
  readonly type: 'float32' | 'int32';
  readonly dims: readonly number[];
}

export interface OneNodeModel {
  readonly op: string;
  /** Empty: the standard's own. */
  readonly domain?: string;
  /** Whole numbers. */
  readonly attributes: Readonly<Record<string, number>>;
  /** An optional input that is left out has no value. */
  readonly inputs: readonly (ModelValue | undefined)[];
  readonly outputs: readonly ModelValue[];
}

const opset = 23; // the first with Attention
const irVersion = 10;
const attributeIsInteger = 2;
const elementTypes = { float32: 1, int32: 6 } as const;

export function onnxModel({ op, domain = '', attributes, inputs, outputs }: OneNodeModel): Uint8Array {
  const node = message(
    ...inputs.map((value): Field => [1, value?.name ?? '']),
    ...outputs.map(({ name }): Field => [2, name]),
    [4, op],
    ...Object.entries(attributes).map(
      ([name, i]): Field => [5, message([1, name], [3, i], [20, attributeIsInteger])],
    ),
    [7, domain],
  );
  const graph = message(
    [1, node],
    [2, 'attention'],
    ...inputs.flatMap((value): Field[] => (value ? [[11, valueInfo(value)]] : [])),
    ...outputs.map((value): Field => [12, valueInfo(value)]),
  );
  return Uint8Array.from(
    message(
      [1, irVersion],
      [7, graph],
      [8, message([1, ''], [2, opset])],
      [8, message([1, 'com.microsoft'], [2, 1])],
    ),
  );
}

function valueInfo({ name, type, dims }: ModelValue): number[] {
  const shape = message(...dims.map((size): Field => [1, message([1, size])]));
  return message([1, name], [2, message([1, message([1, elementTypes[type]], [2, shape])])]);
}

// Protocol Buffers, as far as such a model needs them: onnx.proto of the ONNX project has the numbers of the fields.

type Field = readonly [number: number, value: number | string | readonly number[]];

/** Whole numbers from 0 on as varints, text and messages with their lengths. */
function message(...fields: readonly Field[]): number[] {
  return fields.flatMap(([number, value]) => {
    if (typeof value === 'number') return [...varint(8 * number), ...varint(value)];
    const bytes = typeof value === 'string' ? [...new TextEncoder().encode(value)] : value;
    return [...varint(8 * number + 2), ...varint(bytes.length), ...bytes];
  });
}

/** Seven bits a byte, the lowest first. */
function varint(n: number): number[] {
  return n < 128 ? [n] : [(n % 128) + 128, ...varint(Math.floor(n / 128))];
}
