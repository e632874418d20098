// Whether threads gain more than they cost.

/** What a pass costs. */
export interface PassCost {
  /** Multiplications, each with an addition. */
  readonly multiplyAdds: number;
  /** Of tensors that it reads and writes. */
  readonly bytes: number;
  /** Parts that threads can share. */
  readonly units: number;
}

// As measured: one thread multiplies and adds 10 to 22 numbers in a nanosecond, and copies 3 to 20 bytes of a tensor, few
// where another thread has just read them; waking threads and waiting for them takes up to 0.2 ms.
const multiplyAddsPerMs = 2e7;
const bytesPerMs = 6e6;
const startMs = 0.2;

/** @param copies whether tensors must be copied first */
export function isWorthThreads(cost: PassCost, threads: number, copies: boolean): boolean {
  const share = 1 - 1 / Math.min(threads, cost.units); // of the work that others do
  const copyMs = copies ? cost.bytes / bytesPerMs : 0;
  return expectedMs(cost) * share > startMs + copyMs;
}

/** What one thread takes. */
export function expectedMs({ multiplyAdds }: PassCost): number {
  return multiplyAdds / multiplyAddsPerMs;
}
