import { ShapeError } from '../contract/errors';
import { withKind } from '../contract/json';
import type { Mask } from '../contract/mask';
import { countsOf } from './counts-of';

/**
 * The first `padding[b]` keys of a batch entry are padding, as batched generation pads its prompts. Masks that count tokens
 * (`chunks`, `prefix`, `globalTokens`) and are joined to it by `allOf` count from the first token behind it. Where a cache
 * keeps the padding, each call has the same mask.
 *
 * @param padding [B]
 * @throws ConfigError for a count that is not a whole number of at least 0
 * @throws ShapeError in a call of another batch
 */
export const leftPadding = /* @__PURE__ */ withKind(
  'leftPadding',
  ['padding'],
  (padding: readonly number[]): Mask => {
    const counts = countsOf('leftPadding', 'counts', padding);
    return {
      name: 'leftPadding',
      perBatch: true,
      perHead: false,
      spans: ({ b, end }) => [[counts[b]!, end]],
      start: (b) => counts[b]!,
      check({ batch }) {
        if (counts.length === batch) return;
        throw new ShapeError('leftPadding', 'one count for each batch entry is needed', { batch, counts });
      },
      toJSON: () => ({ kind: 'leftPadding', padding: counts }),
    };
  },
);
