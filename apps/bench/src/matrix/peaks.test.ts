import { expect, it } from 'vitest';
import { measurePeak } from './peaks';

it.each(['cpu', 'wasm'] as const)('measures what %s can', async (backend) => {
  const peak = await measurePeak(backend);
  if (!peak) return; // no relaxed SIMD
  expect(peak.gflops).toBeGreaterThan(0.01);
  expect(peak.gflops).toBeLessThan(10_000);
  expect(peak.gigabytesPerSecond).toBeGreaterThan(0.01);
  expect(peak.gigabytesPerSecond).toBeLessThan(10_000);
});
