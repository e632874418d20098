import { ShapeError } from '../contract/errors';
import { withKind } from '../contract/json';
import type { Mask } from '../contract/mask';
import { countsOf } from './counts-of';

/**
 * The first `lengths[b]` keys are seen by all, the others causally: a prefix language model (Raffel et al. 2020,
 * 1910.10683). They are counted from the entry's first token, behind left padding.
 *
 * @param lengths [B], or one number for all
 * @throws ConfigError for a length that is not a whole number of at least 0
 * @throws ShapeError in a call of another batch
 */
export const prefix = /* @__PURE__ */ withKind(
  'prefix',
  ['lengths'],
  (lengths: number | readonly number[]): Mask => {
    const perBatch = typeof lengths !== 'number';
    const counts = countsOf('prefix', 'lengths', perBatch ? lengths : [lengths]);
    return {
      name: 'prefix',
      perBatch,
      perHead: false,
      spans: ({ b, query, start }) => [[0, Math.max(start + counts[perBatch ? b : 0]!, query + 1)]],
      check({ batch }) {
        if (!perBatch || counts.length === batch) return;
        throw new ShapeError('prefix', 'one length for each batch entry is needed', {
          batch,
          lengths: counts,
        });
      },
      toJSON: () => ({ kind: 'prefix', lengths: perBatch ? counts : counts[0] }),
    };
  },
);
