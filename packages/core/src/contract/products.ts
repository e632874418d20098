// What multiplies rows with weights: projections, linear maps, the heads that score tokens.
import type * as tf from '@tensorflow/tfjs-core';
import type { NamedTensors } from './kernel';

/**
 * A matrix of weights at rest in another form than floats: `format` says which. It lies as files of models have it, [out, in],
 * so a product reads it `transposed`. It is not trained.
 */
export interface StoredWeights {
  /** Of the numbers, such as 'Q8_0': a kernel that does not know it refuses. */
  readonly format: string;
  /** [out, in] */
  readonly shape: readonly [number, number];
  /** Where the numbers lie, by names that the format gives them. */
  readonly tensors: NamedTensors;
  /** The numbers as floats: [out, in], or of some rows, in their order. The caller disposes them. */
  toFloats(rows?: ArrayLike<number>): tf.Tensor2D;
  /** Gives the tensors back; twice is once. */
  dispose(): void;
}

/** Weights of a product: floats, or another form of them. */
export type ProductWeights = tf.Tensor2D | StoredWeights;

/** A product of rows with weights, whose shapes were checked: x W + b. */
export interface ProductCall {
  /** [B, S, in] */
  readonly x: tf.Tensor3D;
  /** [in, out]; [out, in] where `transposed`. */
  readonly weights: ProductWeights;
  /** The weights are a table with a row for each output. */
  readonly transposed: boolean;
  /** [out]. Default: none. */
  readonly bias?: tf.Tensor1D | undefined;
  /** Their sizes. */
  readonly sizes: {
    /** Rows: B · S. */
    readonly rows: number;
    /** Numbers of a row of x. */
    readonly inDim: number;
    /** Numbers of a row of the product. */
    readonly outDim: number;
  };
}

/** Gradients of a product. */
export interface ProductGradients {
  /** [B, S, in] */
  readonly x: tf.Tensor3D;
  /** As the weights lie; of weights that are not floats, none. */
  readonly weights?: tf.Tensor2D;
  /** [out], where there is a bias. */
  readonly bias?: tf.Tensor1D;
}

/** A way to multiply rows with weights. It trusts its calls: `project` has checked them. */
export interface ProductKernel {
  /** For reasons and errors. */
  readonly name: string;
  /** Compiles what must be compiled, and starts threads; until then calls have one. */
  prepare?(): Promise<void>;
  /** Why it cannot compute this product; empty when it can. Where it cannot, TensorFlow.js multiplies. */
  unsupported(call: ProductCall): readonly string[];
  /** What a user may want to know of a product it can compute. Default: nothing. */
  notes?(call: ProductCall): readonly string[];
  /** [B, S, out]. Allocates exactly its result. */
  run(call: ProductCall): tf.Tensor3D;
  /** From the gradient [B, S, out] of the product. Rows of x whose gradient is 0 hold finite numbers. */
  gradients(call: ProductCall, gradient: tf.Tensor3D): ProductGradients;
  /** Gives back threads and memory. */
  dispose?(): void;
  /** Plain JSON, which `fromConfig` reads. */
  toJSON?(): object;
}
