// The one door to a kernel: checks, compiles the mask, asks the kernel, owns the tidy, names who ran.
import * as tf from '@tensorflow/tfjs-core';
import { cleanTidy } from '../backend/clean-tidy';
import { checkKernel } from '../checks/check-options';
import { UnsupportedError } from '../contract/errors';
import type { AttendOptions, AttendResult, AttentionInputs, AttentionKernel } from '../contract/kernel';
import { kernelCall } from './kernel-call';

/**
 * `softmax(softcap(scale Q K^T) + bias, masked) V` by the kernel given, and the name of the kernel that ran.
 *
 * @param inputs query [B, Hq, Sq, D], key [B, Hkv, Skv, D], value [B, Hkv, Skv, Dv]; query head h reads key/value
 *   head floor(h / (Hq / Hkv))
 * @returns output [B, Hq, Sq, Dv], and what `options.returns` asks for: weights [B, Hq, Sq, Skv], logSumExp [B, Hq, Sq]
 * @throws ShapeError, ConfigError for inputs and options that cannot be
 * @throws UnsupportedError with the kernel's reasons; nothing is ever ignored
 */
export function attend(
  kernel: AttentionKernel,
  inputs: AttentionInputs,
  options: AttendOptions = {},
): AttendResult {
  checkKernel('attend', kernel);
  return cleanTidy(() => {
    const call = kernelCall('attend', inputs, options);
    const reasons = kernel.unsupported(call);
    if (reasons.length > 0) {
      throw new UnsupportedError(
        'attend',
        `${kernel.name} cannot run this call on backend "${tf.getBackend()}"`,
        reasons,
        {
          query: inputs.query,
        },
      );
    }
    return { kernel: kernel.name, ...kernel.run(call) };
  });
}
