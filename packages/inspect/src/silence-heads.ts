// Heads of a whole model silenced, by the kernel that its layers call: no weight changes.
import { type AttentionKernel, ConfigError } from '@polyhead/core';
import { type KernelWrapper, wrapKernel } from '@polyhead/core/kernel';
import * as tf from '@tensorflow/tfjs-core';

/**
 * A kernel whose silenced heads give zeros, which is what zeros in their rows of the output projection do (Michel et al.
 * 2019, 1905.10650). Biases stay. Gradients of what only a silenced head uses are zeros, so that the rest can be trained
 * without it.
 *
 * It serves one pass of one model: its first call is taken to be that of layer 0, the second that of layer 1.
 *
 * @param silent heads of each layer, counted from 0; of a layer with grouped heads the query heads
 * @throws in the call: ConfigError for more calls than layers, and for a head that a layer has not
 * @example
 * model.apply(ids, { kernel: silenceHeads(composed(), [[], [2, 3]]) }); // two layers, in the second heads 2 and 3
 */
export function silenceHeads(
  kernel: AttentionKernel,
  silent: readonly (readonly number[])[],
): AttentionKernel {
  let layer = 0;
  const result: KernelWrapper['result'] = (given, { sizes: { Hq } }) => {
    const heads = silent[layer];
    if (!heads)
      throw new ConfigError(
        'silenceHeads',
        'silent must have a list for each layer; a kernel serves one pass',
        {
          layers: silent.length,
          'calls before this one': layer,
        },
      );
    checkHeads(heads, { layer, Hq });
    layer++;
    if (heads.length === 0) return given;
    const keeps = Array.from({ length: Hq }, (_, h) => Number(!heads.includes(h)));
    return { ...given, output: tf.mul(given.output, tf.tensor4d(keeps, [1, Hq, 1, 1])) };
  };
  return wrapKernel(kernel, { result });
}

function checkHeads(
  heads: readonly number[],
  { layer, Hq }: { readonly layer: number; readonly Hq: number },
) {
  const wrong = heads.find((head) => !(Number.isInteger(head) && head >= 0 && head < Hq));
  if (wrong === undefined) return;
  throw new ConfigError('silenceHeads', 'silent heads must be heads of their layer, counted from 0', {
    head: wrong,
    layer,
    heads: Hq,
  });
}
