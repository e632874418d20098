// What a kernel is asked, what it answers, and what a caller may ask of `attend`.
import type * as tf from '@tensorflow/tfjs-core';
import type { StoredKeyValue } from './key-value-cache';
import type { Mask, MaskPlan } from './mask';
import type { Positions, RelativeTables } from './position';

export type AttentionInputs =
  | {
      readonly query: tf.Tensor4D; // [B, Hq, Sq, D]
      readonly key: tf.Tensor4D; // [B, Hkv, Skv, D]
      readonly value: tf.Tensor4D; // [B, Hkv, Skv, Dv]
      readonly stored?: never;
    }
  | { readonly query: tf.Tensor4D; readonly stored: StoredKeyValue };

export interface ScoreOptions {
  readonly bias?: tf.Tensor4D; // additive, broadcasts to [B, Hq, Sq, Skv]
  readonly relative?: RelativeTables;
  readonly softcap?: number; // absent or 0: off
  readonly sinkLogits?: tf.Tensor1D; // [Hq], value 0
  readonly dropout?: { readonly rate: number; readonly seed: number };
  readonly returns?: readonly ('weights' | 'logSumExp')[];
}

export interface AttendOptions extends ScoreOptions {
  readonly scale?: number; // default 1 / sqrt(D); 0 is a value
  readonly mask?: Mask;
  readonly positions?: Positions; // default: token order
  /** Token order of query row 0. Default: the last query stands at the last key, in each batch entry. */
  readonly queryStart?: number | readonly number[];
}

/** What a kernel gets: checked, defaults filled in, mask compiled. */
export interface KernelCall extends ScoreOptions {
  readonly inputs: AttentionInputs;
  readonly scale: number;
  readonly plan: MaskPlan;
  readonly positions: Positions;
  readonly order: Positions; // token order of query rows and keys: what masks and dropout see
  readonly gradientDepth: number; // 0 plain, 1 inside a gradient, 2 inside a gradient of a gradient
}

export type KernelResult = {
  readonly output: tf.Tensor4D; // [B, Hq, Sq, Dv]
  readonly weights?: tf.Tensor4D; // [B, Hq, Sq, Skv], before dropout
  readonly logSumExp?: tf.Tensor3D; // [B, Hq, Sq], natural log
  readonly kernel?: string; // set where one kernel chose another
};

export interface AttentionKernel {
  readonly name: string;
  /** Compiles what must be compiled; until then `unsupported` says so. */
  prepare?(): Promise<void>;
  /** Why it cannot run this call; empty when it can. Never ignore an option. */
  unsupported(call: KernelCall): readonly string[];
  /** What a user may want to know of a call it can run: one thread only, keys materialized, rows copied. */
  notes?(call: KernelCall): readonly string[];
  /** False where it could run but the next candidate is faster. */
  worthwhile?(call: KernelCall): boolean;
  run(call: KernelCall): KernelResult;
  dispose?(): void;
}

export type AttendResult = Omit<KernelResult, 'kernel'> & { readonly kernel: string };
