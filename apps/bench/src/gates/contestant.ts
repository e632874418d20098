// Who takes part in a contest, and what is asked of it.
import type { Turn } from '../measure/timed';

export interface Contestant {
  /** `polyhead`, or the library. */
  readonly peer: string;
  readonly version?: string;
  /** Which of its operations, or which of our kernels. */
  readonly op: string;
  /** The kernel that ran, where that is chosen at each call. */
  ranBy?(): string | undefined;
  /** Computes once. What is timed ends with the result as the library's own tensor. */
  turn(): Promise<Turn>;
  /** Largest difference to what is right, as a share of the largest number. Absent where nothing is computed. */
  error?(): Promise<number>;
  dispose(): void | Promise<void>;
}

/** Who does not take part. */
export interface Absence {
  readonly peer: string;
  /** All of the peer, where it has none. */
  readonly op?: string;
  readonly reason: string;
}

export type Entry = Contestant | Absence;

export const isAbsent = (entry: Entry): entry is Absence => 'reason' in entry;
