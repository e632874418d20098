import { ShapeError } from '../contract/errors';
import type { Mask } from '../contract/mask';
import { countsOf } from './counts-of';

/**
 * The first `lengths[b]` keys are seen by all, the others causally: a prefix language model (Raffel et al. 2020,
 * 1910.10683).
 *
 * @param lengths [B], or one number for all
 * @throws ConfigError for a length that is not a whole number of at least 0
 * @throws ShapeError in a call of another batch
 */
export function prefix(lengths: number | readonly number[]): Mask {
  const counts = countsOf('prefix', 'lengths', typeof lengths === 'number' ? [lengths] : lengths);
  const perBatch = typeof lengths !== 'number';
  return {
    name: 'prefix',
    perBatch,
    perHead: false,
    spans: ({ b, query }) => [[0, Math.max(counts[perBatch ? b : 0]!, query + 1)]],
    check({ batch }) {
      if (!perBatch || counts.length === batch) return;
      throw new ShapeError('prefix', 'one length for each batch entry is needed', { batch, lengths });
    },
  };
}
