// An ONNX model of one node, as the bytes that onnxruntime reads.
import { importPeer } from '../../../../scripts/peers/import-peer';

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

/** What of protobufjs is used. */
interface Protobuf {
  parse(text: string, options: { readonly keepCase: boolean }): { readonly root: Root };
}

interface Root {
  lookupType(name: string): {
    fromObject(values: object): object;
    encode(message: object): { finish(): Uint8Array };
  };
}

/** The part of onnx.proto that such a model needs: Apache-2.0, the ONNX project. */
const onnxProto = `syntax = "proto3";
  package onnx;
  message AttributeProto { string name = 1; int64 i = 3; int32 type = 20; }
  message NodeProto {
    repeated string input = 1;
    repeated string output = 2;
    string op_type = 4;
    repeated AttributeProto attribute = 5;
    string domain = 7;
  }
  message Dimension { int64 dim_value = 1; }
  message TensorShapeProto { repeated Dimension dim = 1; }
  message TensorTypeProto { int32 elem_type = 1; TensorShapeProto shape = 2; }
  message TypeProto { TensorTypeProto tensor_type = 1; }
  message ValueInfoProto { string name = 1; TypeProto type = 2; }
  message GraphProto {
    repeated NodeProto node = 1;
    string name = 2;
    repeated ValueInfoProto input = 11;
    repeated ValueInfoProto output = 12;
  }
  message OperatorSetIdProto { string domain = 1; int64 version = 2; }
  message ModelProto { int64 ir_version = 1; GraphProto graph = 7; repeated OperatorSetIdProto opset_import = 8; }`;

/** @throws Error where protobufjs is not installed */
export async function onnxModel(model: OneNodeModel): Promise<Uint8Array> {
  const { default: protobuf } = (await importPeer('protobufjs')) as { readonly default: Protobuf };
  const { root } = protobuf.parse(onnxProto, { keepCase: true });
  const ModelProto = root.lookupType('onnx.ModelProto');
  return ModelProto.encode(ModelProto.fromObject(valuesOf(model))).finish();
}

function valuesOf({ op, domain = '', attributes, inputs, outputs }: OneNodeModel) {
  const node = {
    op_type: op,
    domain,
    input: inputs.map((value) => value?.name ?? ''),
    output: outputs.map(({ name }) => name),
    attribute: Object.entries(attributes).map(([name, i]) => ({ name, i, type: attributeIsInteger })),
  };
  const given = inputs.filter((value) => value !== undefined);
  return {
    ir_version: irVersion,
    opset_import: [
      { domain: '', version: opset },
      { domain: 'com.microsoft', version: 1 },
    ],
    graph: {
      name: 'attention',
      node: [node],
      input: given.map(valueInfo),
      output: outputs.map(valueInfo),
    },
  };
}

const valueInfo = ({ name, type, dims }: ModelValue) => ({
  name,
  type: {
    tensor_type: {
      elem_type: elementTypes[type],
      shape: { dim: dims.map((size) => ({ dim_value: size })) },
    },
  },
});
