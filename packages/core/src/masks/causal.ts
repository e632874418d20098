import { withKind } from '../contract/json';
import type { Mask } from '../contract/mask';

/**
 * A query sees the keys up to its own place in token order. Where there are more keys than queries the last query
 * is at the last key (bottom-right); `queryStart: 0` of a call gives the top-left form.
 */
export const causal = /* @__PURE__ */ withKind(
  'causal',
  [],
  (): Mask => ({
    name: 'causal',
    perBatch: false,
    perHead: false,
    spans: ({ query }) => [[0, query + 1]],
    toJSON: () => ({ kind: 'causal' }),
  }),
);
