import { ShapeError } from '../contract/errors';
import type { Mask } from '../contract/mask';
import { countsOf } from './counts-of';

/**
 * The first `padding[b]` keys of a batch entry are padding, as batched generation pads its prompts. Masks beside it in
 * `allOf` that count tokens (`chunks`, `prefix`, `globalTokens`) count from the first token behind it. With a cache the
 * padding stays in it, and each call has the same mask.
 *
 * @param padding [B]
 * @throws ConfigError for a count that is not a whole number of at least 0
 * @throws ShapeError in a call of another batch
 */
export function leftPadding(padding: readonly number[]): Mask {
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
  };
}
