import { withNormalSpans } from '../checks/check-mask';
import { normalizeOptions } from '../checks/normalize-options';
import { ConfigError } from '../contract/errors';
import { withKind } from '../contract/json';
import type { Mask, MaskRow, Span } from '../contract/mask';

/** True where query `query` of head `h` in batch entry `b` may see key `key`; both in token order. */
export type PairPredicate = (b: number, h: number, query: number, key: number) => boolean;

/**
 * Any rule, asked once for each pair when the mask is compiled. Say which axes it ignores, and it is asked less often. The
 * plan is remembered, so the rule must always answer the same: where what it reads has changed, make a new predicate.
 *
 * @param rule true = may attend
 * @param options.perBatch whether the rule reads `b`. Default: true
 * @param options.perHead whether the rule reads `h`. Default: true
 * @throws ConfigError for what is no function, and for unknown options; where the rule gives neither true nor false; where
 *   it is written as JSON
 */
export const predicate = /* @__PURE__ */ withKind('predicate', ['rule', 'options'], predicateMask);

function predicateMask(
  rule: PairPredicate,
  options?: { readonly perBatch?: boolean | undefined; readonly perHead?: boolean | undefined } | null,
): Mask {
  if (typeof rule !== 'function') {
    throw new ConfigError('predicate', 'rule must be a function (b, h, query, key) => boolean', { rule });
  }
  const { perBatch = true, perHead = true } = normalizeOptions('predicate', 'options', options ?? {}, [
    'perBatch',
    'perHead',
  ]);
  for (const [name, value] of Object.entries({ perBatch, perHead })) {
    if (typeof value !== 'boolean')
      throw new ConfigError('predicate', `${name} must be true or false`, { [name]: value });
  }
  const toJSON = () => {
    const why = 'a function cannot be written as JSON: use masks that are described, or pass it at each call';
    throw new ConfigError('predicate', why, { rule });
  };
  return withNormalSpans({ name: 'predicate', perBatch, perHead, spans: runsOf(rule), toJSON });
}

/** For each row the maximal runs of columns in [0, end) that the rule shows. */
function runsOf(rule: PairPredicate) {
  const shows: PairPredicate = (b, h, query, key) => {
    const answer: unknown = rule(b, h, query, key); // a Promise of false would show the pair
    if (typeof answer === 'boolean') return answer;
    throw new ConfigError('predicate', 'rule must give true or false', { b, h, query, key, answer });
  };
  const latest: Span[] = []; // from each column: rows are much alike, and may have thousands of runs
  return ({ b, h, query, end }: MaskRow): Span[] => {
    const runs: Span[] = [];
    for (let from = 0; from < end; from++) {
      if (!shows(b, h, query, from)) continue;
      let to = from + 1;
      while (to < end && shows(b, h, query, to)) to++;
      let run = latest[from];
      if (run?.[1] !== to) latest[from] = run = [from, to];
      runs.push(run);
      from = to;
    }
    return runs;
  };
}
