// The linear maps between embeddings and heads, and all others: rows times weights.
import * as tf from '@tensorflow/tfjs-core';
import { zeroRowsWithoutGradient } from '../backend/rows-without-gradient';
import { checkTensor } from '../checks/check-tensor';
import { ShapeError } from '../contract/errors';
import type { ProductCall, ProductKernel, ProductWeights } from '../contract/products';
import { differentiable, isTaped } from '../kernel/gradient';
import { defaultProducts } from './default-products';
import { tfjsProducts } from './tfjs-products';

/** How `project` multiplies. */
export interface ProjectOptions {
  /** What multiplies. Default: that of `setDefaultProducts`, else `tfjsProducts()`. */
  readonly products?: ProductKernel | undefined;
  /** The weights are a table [out, in]. Default: false; of weights that are not floats, true. */
  readonly transposed?: boolean | undefined;
}

/**
 * `x kernel + bias`, with gradients.
 *
 * @param x [B, S, in]
 * @param kernel [in, out]; [out, in] where `transposed`
 * @param bias [out]
 * @returns [B, S, out]
 * @throws ShapeError where the shapes do not fit
 */
export function project(
  x: tf.Tensor,
  kernel: tf.Tensor | ProductWeights,
  bias?: tf.Tensor,
  options: ProjectOptions = {},
): tf.Tensor3D {
  const call = productCall(x, kernel, bias, options);
  const preferred = options.products ?? defaultProducts();
  const products = preferred.unsupported(call).length === 0 ? preferred : tfjsProducts();
  return isTaped('project') ? withGradients(products, call) : products.run(call);
}

function productCall(
  x: tf.Tensor,
  weights: tf.Tensor | ProductWeights,
  bias: tf.Tensor | undefined,
  { transposed = !(weights instanceof tf.Tensor) }: ProjectOptions,
): ProductCall {
  checkTensor('project', 'x', x, ['[B, S, in]']);
  if (!isStored(weights)) checkTensor('project', 'kernel', weights, [transposed ? '[out, in]' : '[in, out]']);
  const inDim = weights.shape[transposed ? 1 : 0]!;
  const outDim = weights.shape[transposed ? 0 : 1]!;
  const [B, S, width] = x.shape as [number, number, number];
  if (width !== inDim || (bias !== undefined && (bias.rank !== 1 || bias.shape[0] !== outDim))) {
    const rule = `kernel must be ${transposed ? '[out, in]' : '[in, out]'}, and bias [out]`;
    throw new ShapeError('project', rule, { x, kernel: weights, bias });
  }
  return {
    x: x as tf.Tensor3D,
    weights: weights as ProductWeights,
    transposed,
    bias: bias as tf.Tensor1D | undefined,
    sizes: { rows: B * S, inDim, outDim },
  };
}

function isStored(weights: tf.Tensor | ProductWeights): weights is Exclude<ProductWeights, tf.Tensor> {
  return !(weights instanceof tf.Tensor) && typeof weights?.toFloats === 'function';
}

/** The product, whose gradient is the kernel's own. */
function withGradients(products: ProductKernel, call: ProductCall): tf.Tensor3D {
  const { x, weights, bias } = call;
  const trained = weights instanceof tf.Tensor ? [weights] : [];
  const inputs = [x, ...trained, ...(bias ? [bias] : [])];
  /** The call with the tensors that tfjs hands to a pass. */
  const callOf = (tensors: readonly tf.Tensor[]): ProductCall => ({
    ...call,
    x: tensors[0] as tf.Tensor3D,
    weights: trained.length > 0 ? (tensors[1] as tf.Tensor2D) : weights,
    bias: bias && (tensors.at(-1) as tf.Tensor1D),
  });
  return differentiable(
    { inputs },
    (tensors) => products.run(callOf(tensors)),
    (gradient, tensors) => {
      const active = zeroRowsWithoutGradient(tensors[0]!, gradient);
      const gradients = products.gradients(callOf([active, ...tensors.slice(1)]), gradient);
      return [gradients.x, gradients.weights, gradients.bias].filter((of) => of !== undefined);
    },
  );
}
