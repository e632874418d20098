// What a whole model is timed at: tokens behind a prompt, which all choose alike.
import type { FormName } from '../model/weight-forms';

export interface ModelWork {
  /** Of a GGUF file. */
  readonly path: string;
  /** Tokens of the prompt; all but the last stand in the cache before a turn. */
  readonly prompt: readonly number[];
  /** Tokens of a turn. */
  readonly tokens: number;
}

/** For a program of ours. */
export interface OwnModelWork extends ModelWork {
  readonly form: FormName;
  /** The folder of the backend's files. */
  readonly wasmPath: string;
}

/**
 * A program that computes it takes the work as its last argument, and says `ModelGreeting`. Then it answers each line with
 * `ModelTurn`, until its input ends.
 */
export type ModelGreeting = { readonly version: string } | { readonly absent: string };

export interface ModelTurn {
  readonly ms: number;
  readonly cpuMs: number;
  readonly tokens: readonly number[];
}
