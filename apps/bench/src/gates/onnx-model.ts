// An ONNX model as the bytes that onnxruntime reads.

type ElementType = 'float32' | 'int32' | 'uint8';

/** A tensor that goes in or comes out. */
export interface ModelValue {
  readonly name: string;
  readonly type: ElementType;
  /** A name where the size is another at each call. */
  readonly dims: readonly (number | string)[];
}

/** A tensor that the model holds: what onnxruntime may lay out anew before it runs. */
export interface Constant {
  readonly name: string;
  readonly type: ElementType;
  readonly dims: readonly number[];
  readonly data: Float32Array | Int32Array | Uint8Array;
}

export interface OnnxNode {
  readonly op: string;
  /** Empty: the standard's own. */
  readonly domain?: string;
  /** Whole numbers. */
  readonly attributes: Readonly<Record<string, number>>;
  /** Names; an optional input that is left out has none. */
  readonly inputs: readonly (string | undefined)[];
  readonly outputs: readonly string[];
}

export interface OnnxGraph {
  readonly nodes: readonly OnnxNode[];
  readonly constants?: readonly Constant[];
  readonly inputs: readonly ModelValue[];
  readonly outputs: readonly ModelValue[];
}

/** A model of one operator. */
export interface OneNodeModel extends Omit<OnnxNode, 'inputs' | 'outputs'> {
  /** An optional input that is left out has no value. */
  readonly inputs: readonly (ModelValue | undefined)[];
  /** Further inputs. */
  readonly constants?: readonly Constant[];
  readonly outputs: readonly ModelValue[];
}

/** The domain of operators that onnxruntime adds. */
export const microsoft = 'com.microsoft';

const opset = 23; // the first with Attention
const irVersion = 10;
const attributeIsInteger = 2;
const elementTypes: Readonly<Record<ElementType, number>> = { float32: 1, uint8: 2, int32: 6 };

export function onnxModel({ nodes, constants = [], inputs, outputs }: OnnxGraph): Uint8Array {
  const graph = message(
    ...nodes.map((node): Field => [1, nodeMessage(node)]),
    [2, 'attention'],
    ...constants.map((constant): Field => [5, constantMessage(constant)]),
    ...inputs.map((value): Field => [11, valueInfo(value)]),
    ...outputs.map((value): Field => [12, valueInfo(value)]),
  );
  return message(
    [1, irVersion],
    [7, graph],
    [8, message([1, ''], [2, opset])],
    [8, message([1, microsoft], [2, 1])],
  );
}

export function oneNode({ inputs, constants = [], outputs, ...node }: OneNodeModel): OnnxGraph {
  const nameOf = (value: { readonly name: string } | undefined) => value?.name;
  const names = { inputs: [...inputs, ...constants].map(nameOf), outputs: outputs.map(({ name }) => name) };
  return {
    nodes: [{ ...node, ...names }],
    constants,
    inputs: inputs.filter((value) => value !== undefined),
    outputs,
  };
}

function nodeMessage({ op, domain = '', attributes, inputs, outputs }: OnnxNode): Uint8Array {
  return message(
    ...inputs.map((name): Field => [1, name ?? '']),
    ...outputs.map((name): Field => [2, name]),
    [4, op],
    ...Object.entries(attributes).map(
      ([name, i]): Field => [5, message([1, name], [3, i], [20, attributeIsInteger])],
    ),
    [7, domain],
  );
}

function constantMessage({ name, type, dims, data }: Constant): Uint8Array {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return message(...dims.map((size): Field => [1, size]), [2, elementTypes[type]], [8, name], [9, bytes]);
}

function valueInfo({ name, type, dims }: ModelValue): Uint8Array {
  const sizes = dims.map(
    (size): Field => [1, typeof size === 'number' ? message([1, size]) : message([2, size])],
  );
  return message([1, name], [2, message([1, message([1, elementTypes[type]], [2, message(...sizes)])])]);
}

// Protocol Buffers, as far as such a model needs them: onnx.proto of the ONNX project has the numbers of the fields.

type Field = readonly [number: number, value: number | string | Uint8Array];

/** Whole numbers from 0 on as varints, text and bytes with their lengths. */
function message(...fields: readonly Field[]): Uint8Array {
  const parts = fields.flatMap(([number, value]) => {
    if (typeof value === 'number') return [varint(8 * number), varint(value)];
    const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value;
    return [varint(8 * number + 2), varint(bytes.length), bytes];
  });
  return Uint8Array.from(Buffer.concat(parts));
}

/** Seven bits a byte, the lowest first. */
function varint(n: number): Uint8Array {
  const bytes: number[] = [];
  for (; n >= 128; n = Math.floor(n / 128)) bytes.push((n % 128) + 128);
  return Uint8Array.of(...bytes, n);
}
