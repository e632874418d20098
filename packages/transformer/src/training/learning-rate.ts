// The learning rate by step: it rises in a line, then falls as half a cosine.
import { checkNumber, checkSizes } from '@polyhead/core/layer';

/** A learning rate that warms up. */
export interface WarmupCosine {
  /** The largest rate, at the end of the warm-up. */
  readonly peak: number;
  /** Steps of the warm-up; 0 for none. */
  readonly warmupSteps: number;
  /** All steps. */
  readonly steps: number;
  /** The rate at the last step and after it. Default: 0. */
  readonly end?: number;
}

/**
 * peak step / warmupSteps, then end + (peak - end) (1 + cos(pi t)) / 2, t rising from 0 to 1 (Loshchilov & Hutter 2017, arXiv
 * 1608.03983).
 *
 * @returns the rate of a step, counted from 1
 */
export function warmupCosine({ peak, warmupSteps, steps, end = 0 }: WarmupCosine): (step: number) => number {
  checkSizes('warmupCosine', { steps });
  const isBefore = (n: number) => Number.isInteger(n) && n >= 0 && n < steps;
  checkNumber('warmupCosine', 'warmupSteps', warmupSteps, [isBefore, 'a whole number below steps']);
  checkNumber('warmupCosine', 'peak', peak, [(rate) => rate >= end, 'at least the rate at the end']);
  checkNumber('warmupCosine', 'end', end, [(rate) => rate >= 0, 'at least 0']);
  return (step) => {
    if (step < warmupSteps) return (peak * step) / warmupSteps;
    const t = Math.min(1, (step - warmupSteps) / (steps - warmupSteps));
    return end + ((peak - end) * (1 + Math.cos(Math.PI * t))) / 2;
  };
}
