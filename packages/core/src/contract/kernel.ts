// What a kernel is asked, what it answers, and what a caller may ask of `attend`.
import type * as tf from '@tensorflow/tfjs-core';
import type { StoredKeyValue } from './key-value-cache';
import type { Mask, MaskPlan } from './mask';
import type { Positions, RelativeTables } from './position';

/** Tensors by name. */
export type NamedTensors = { readonly [name: string]: tf.Tensor };

/**
 * What `attend` takes: queries, with keys and values as tensors, or as the rows of a cache. Query head h reads key/value
 * head floor(h / (Hq / Hkv)).
 */
export type AttentionInputs =
  | {
      /** [B, Hq, Sq, D] */
      readonly query: tf.Tensor;
      /** [B, Hkv, Skv, D] */
      readonly key: tf.Tensor;
      /** [B, Hkv, Skv, Dv] */
      readonly value: tf.Tensor;
      /** All earlier tokens in a fixed number of tensors, for kernels that say `takesState`. Default: no earlier tokens. */
      readonly state?: NamedTensors | undefined;
      readonly stored?: undefined;
    }
  | {
      /** [B, Hq, Sq, D] */
      readonly query: tf.Tensor;
      /** Keys and values as a cache keeps them. */
      readonly stored: StoredKeyValue;
      readonly state?: undefined;
    };

/** What may be asked of a kernel beside its output. `state` is what a recurrent kernel hands to the next call. */
export type ReturnName = 'weights' | 'logSumExp' | 'state';

/** Options of a call that reach the kernel as they are given. */
export interface ScoreOptions {
  /** Added to scores; broadcasts to [B, Hq, Sq, Skv]. -Infinity hides a pair. Default: nothing. */
  readonly bias?: tf.Tensor | undefined;
  /** Tables looked up by the distance of a pair, which position methods give. Default: none. */
  readonly relative?: RelativeTables | undefined;
  /** Scores are capped at ±softcap by tanh. Default: 0, off. */
  readonly softcap?: number | undefined;
  /** [Hq]: a logit for each head that takes its share of every row, with a value of 0. Default: none. */
  readonly sinkLogits?: tf.Tensor | undefined;
  /** Drops weights at this rate, drawn from the seed (Srivastava et al. 2014). Default: nothing is dropped. */
  readonly dropout?: { readonly rate: number; readonly seed: number } | undefined;
  /** Tensors of a variant's own, such as decays or gates, for kernels that name them in `takes`. Default: none. */
  readonly tensors?: NamedTensors | undefined;
  /** What is wanted beside the output. Default: nothing. */
  readonly returns?: readonly ReturnName[] | undefined;
}

/** The options of `attend`. */
export interface AttendOptions extends ScoreOptions {
  /** What products of queries and keys are multiplied by. Default: 1 / sqrt(D); 0 is a value. */
  readonly scale?: number | undefined;
  /** Which pairs may attend. Default: all. */
  readonly mask?: Mask | undefined;
  /** Where tokens stand, for `relative`. Default: token order. */
  readonly positions?: Positions | undefined;
  /** Token order of query row 0. Default: the last query stands at the last key, in each batch entry. */
  readonly queryStart?: number | readonly number[] | undefined;
}

/** The sizes of a call, in the letters of docs/notation.md. */
export interface CallSizes {
  /** Batch entries. */
  readonly B: number;
  /** Query heads. */
  readonly Hq: number;
  /** Key/value heads. */
  readonly Hkv: number;
  /** Query rows. */
  readonly Sq: number;
  /** Keys; of ragged rows those of the longest batch entry. */
  readonly Skv: number;
  /** Numbers of a query and key head. */
  readonly D: number;
  /** Numbers of a value head. */
  readonly Dv: number;
}

/** The inputs of a call whose shapes were checked: as `AttentionInputs`. */
export type KernelInputs =
  | {
      readonly query: tf.Tensor4D; // [B, Hq, Sq, D]
      readonly key: tf.Tensor4D; // [B, Hkv, Skv, D]
      readonly value: tf.Tensor4D; // [B, Hkv, Skv, Dv]
      readonly state?: NamedTensors | undefined;
      readonly stored?: undefined;
    }
  | { readonly query: tf.Tensor4D; readonly stored: StoredKeyValue; readonly state?: undefined };

/** What a kernel gets: checked, defaults filled in, mask compiled. */
export interface KernelCall extends ScoreOptions {
  /** The tensors, or rows, of the call. */
  readonly inputs: KernelInputs;
  /** Their sizes. */
  readonly sizes: CallSizes;
  /** Broadcasts to [B, Hq, Sq, Skv]. */
  readonly bias?: tf.Tensor4D | undefined;
  /** [Hq] */
  readonly sinkLogits?: tf.Tensor1D | undefined;
  /** What products of queries and keys are multiplied by. */
  readonly scale: number;
  /** The mask, compiled for this call. */
  readonly plan: MaskPlan;
  /** Where query rows and keys stand: what distances are taken of. */
  readonly positions: Positions;
  /** Token order of query rows and keys: what masks and dropout see. */
  readonly order: Positions;
  /** True inside a gradient: `withGradient` gives the kernel one. */
  readonly isTaped: boolean;
}

/** What a kernel gives. */
export type KernelResult = {
  /** [B, Hq, Sq, Dv] */
  readonly output: tf.Tensor4D;
  /** [B, Hq, Sq, Skv], before dropout; then columns of the keys that the kernel adds, if any. */
  readonly weights?: tf.Tensor4D;
  /** [B, Hq, Sq], natural log, sink included, before dropout. */
  readonly logSumExp?: tf.Tensor3D;
  /** What a recurrent kernel hands to the next call, in place of all tokens until now. */
  readonly state?: NamedTensors;
  /** The kernel that ran, where one kernel chose another. */
  readonly kernel?: string;
};

/** A way to compute attention. It trusts its calls: `attend` has checked them. */
export interface AttentionKernel {
  /** For results, reasons and errors. */
  readonly name: string;
  /** Names of the `tensors` of its own that it honors. Default: none, and `attend` refuses them. */
  readonly takes?: readonly string[];
  /** True where it goes on from a `state`. Default: false, and `attend` refuses one. */
  readonly takesState?: boolean;
  /** Compiles what must be compiled; until then `unsupported` says so. */
  prepare?(): Promise<void>;
  /**
   * Why it cannot run this call; empty when it can. Never ignore an option. `attend` has already refused gradients of
   * gradients, stored rows in a gradient, and tensors and states that the kernel does not name.
   */
  unsupported(call: KernelCall): readonly string[];
  /** What a user may want to know of a call it can run: one thread only, keys copied. Default: nothing. */
  notes?(call: KernelCall): readonly string[];
  /** False where it could run but the next candidate is faster. Default: true. */
  worthwhile?(call: KernelCall): boolean;
  /** Everything `returns` names. What it allocates beside the result belongs to the tidy of `attend`. */
  run(call: KernelCall): KernelResult;
  /** Gives back threads and memory. */
  dispose?(): void;
  /** Plain JSON, which `fromConfig` reads. */
  toJSON?(): object;
}

/** What `attend` gives: what was asked for, and the name of the kernel that ran. */
export type AttendResult<Returns extends ReturnName = ReturnName> = {
  /** [B, Hq, Sq, Dv] */
  readonly output: tf.Tensor4D;
  readonly kernel: string;
} & (ReturnName extends Returns
  ? Pick<KernelResult, ReturnName>
  : { readonly [name in Returns]-?: NonNullable<KernelResult[name]> });
