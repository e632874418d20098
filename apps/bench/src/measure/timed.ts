// One call, by the clock and by the processor.

export interface Turn {
  readonly ms: number;
  /** Of the processor, for all threads of the process that computes. */
  readonly cpuMs: number;
}

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

/** On a quiet machine one thread has all of a processor. */
export const leastShare = 0.9;

/** Processor time over time by the clock. */
export function shareOf(turns: readonly Turn[]): number {
  const sum = (of: keyof Turn) => turns.reduce((total, turn) => total + turn[of], 0);
  return sum('cpuMs') / sum('ms');
}
