import type { ModelValue, OnnxGraph } from './onnx-model';

/** What a session of onnxruntime computes, and from what. */
export interface OnnxWork {
  readonly name: string;
  /** Its first output is `output`. */
  readonly graph: OnnxGraph;
  readonly feeds: readonly Feed[];
  /** The output as ours lies. Default: as it is. */
  readonly read?: (output: Float32Array) => Float32Array;
}

export interface Feed extends ModelValue {
  readonly dims: readonly number[];
  readonly data: Float32Array | Int32Array;
}
