// Who takes part in a contest, and what is asked of it.

export interface Turn {
  readonly ms: number;
  /** Of the processor, for all threads of the process that computes. */
  readonly cpuMs: number;
}

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

/** Milliseconds of one call, by the clock and of the processor. */
export async function timed<T>(
  run: () => T | Promise<T>,
): Promise<{ readonly turn: Turn; readonly result: T }> {
  const before = process.cpuUsage();
  const start = performance.now();
  const called = run();
  const result = called instanceof Promise ? await called : called; // waiting takes time of its own
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(before);
  return { turn: { ms, cpuMs: (user + system) / 1000 }, result };
}
