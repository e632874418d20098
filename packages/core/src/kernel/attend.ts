// The one door to a kernel: checks, compiles the mask, asks the kernel, owns the tidy, judges what comes back.
import * as tf from '@tensorflow/tfjs-core';
import { cleanTidy } from '../backend/clean-tidy';
import { checkKernel } from '../checks/check-options';
import { checkResult } from '../checks/check-result';
import { UnsupportedError } from '../contract/errors';
import type {
  AttendOptions,
  AttendResult,
  AttentionInputs,
  AttentionKernel,
  ReturnName,
} from '../contract/kernel';
import { kernelCall } from './kernel-call';
import { refusals } from './refusals';

/**
 * `softmax(softcap(scale Q K^T) + bias, masked) V` by the kernel given, and the name of the kernel that ran.
 *
 * @param inputs query [B, Hq, Sq, D], key [B, Hkv, Skv, D], value [B, Hkv, Skv, Dv]; query head h reads key/value
 *   head floor(h / (Hq / Hkv))
 * @returns output [B, Hq, Sq, Dv], and what `options.returns` asks for: weights [B, Hq, Sq, Skv], logSumExp [B, Hq, Sq]
 * @throws ShapeError, ConfigError for inputs and options that cannot be, and for a kernel that gives something else
 * @throws UnsupportedError with the kernel's reasons; nothing is ever ignored
 */
export function attend<const Returns extends ReturnName = never>(
  kernel: AttentionKernel,
  inputs: AttentionInputs,
  options: AttendOptions & { readonly returns?: readonly Returns[] | undefined } = {},
): AttendResult<Returns> {
  return attendAs('attend', kernel, inputs, options) as AttendResult<Returns>;
}

/** `attend` under the name of another function, for errors. */
export function attendAs(
  where: string,
  kernel: AttentionKernel,
  inputs: AttentionInputs,
  options: AttendOptions,
): AttendResult {
  checkKernel(where, kernel);
  return cleanTidy(() => {
    const call = kernelCall(where, inputs, options);
    const reasons = refusals(kernel, call);
    if (reasons.length > 0) {
      const rule = `${kernel.name} cannot run this call on backend "${tf.getBackend()}"`;
      throw new UnsupportedError(where, rule, reasons, { query: inputs.query });
    }
    return checkResult(kernel, call, kernel.run(call));
  });
}
