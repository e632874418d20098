// Beam search: of all continuations the likeliest that a few beams find.
import { indexOfLargest, penalized } from './next-token';
import type { Sequences } from './sequences';

/** How beams are searched. */
export interface BeamSearch {
  /** Sequences that go on side by side. */
  readonly beams: number;
  /** Log probabilities are divided by length^lengthPenalty: above 0 long sequences gain. */
  readonly lengthPenalty: number;
  /** The most new tokens. */
  readonly maxTokens: number;
  /** Tokens that end a sequence. */
  readonly stopTokens: ReadonlySet<number>;
  /** As when tokens are drawn. */
  readonly repetitionPenalty: number;
}

/** A sequence that a search has ended: its new tokens, and the sum of their log probabilities by their number. */
interface Hypothesis {
  readonly tokens: readonly number[];
  readonly score: number;
}

interface Candidate {
  readonly beam: number;
  readonly token: number;
  /** Sum of log probabilities with this token. */
  readonly sum: number;
}

/** The search of one prompt: its beams, and the best sequences that have ended. */
interface Search {
  sums: number[];
  ended: Hypothesis[];
  isDone: boolean;
}

/**
 * The likeliest new tokens of each prompt. Sequences end as Hugging Face's do: a stop token among the `beams` best of
 * 2 beams candidates ends one, and a search is over when `beams` have ended and none that goes on is better than they are.
 *
 * @param sequences `beams` entries for each prompt, beside one another
 */
export async function beamSearch(
  sequences: Sequences,
  search: BeamSearch,
): Promise<readonly (readonly number[])[]> {
  const { beams, maxTokens } = search;
  const promptLengths = sequences.tokens.map(({ length }) => length);
  // All beams begin alike: the first alone counts, else they would all stay alike.
  const searches = Array.from(
    { length: promptLengths.length / beams },
    (): Search => ({
      sums: Array.from({ length: beams }, (_, beam) => (beam === 0 ? 0 : -1e9)),
      ended: [],
      isDone: false,
    }),
  );
  for (let step = 1; step <= maxTokens && searches.some(({ isDone }) => !isDone); step++) {
    const logits = await sequences.nextLogits();
    const chosen = searches.flatMap((own, n) => {
      const first = n * beams;
      const scored = logits
        .slice(first, first + beams)
        .map((row, beam) => logProbabilities(row, sequences.tokens[first + beam]!, search.repetitionPenalty));
      const newTokens = (beam: number) => sequences.tokens[first + beam]!.slice(promptLengths[first + beam]);
      return continued(own, scored, { newTokens, step, search }).map(
        ({ beam, token }) => [first + beam, token] as const,
      );
    });
    sequences.select(chosen.map(([entry]) => entry));
    sequences.append(chosen.map(([, token]) => token));
  }
  return searches.map((own, n) => {
    if (!own.isDone)
      own.sums.forEach((sum, beam) => {
        const tokens = sequences.tokens[n * beams + beam]!.slice(promptLengths[n * beams + beam]);
        own.ended.push({ tokens, score: sum / tokens.length ** search.lengthPenalty });
      });
    return own.ended[indexOfLargest(own.ended.map(({ score }) => score))]!.tokens;
  });
}

/** Ends sequences whose next token stops them, and gives the beams that go on. */
function continued(
  own: Search,
  scored: readonly Float64Array[],
  {
    newTokens,
    step,
    search: { beams, lengthPenalty, stopTokens },
  }: { newTokens(beam: number): readonly number[]; readonly step: number; readonly search: BeamSearch },
): readonly Candidate[] {
  if (own.isDone) return own.sums.map((_, beam) => ({ beam, token: 0, sum: 0 }));
  const candidates = bestCandidates(own.sums, scored, beams * (1 + stopTokens.size));
  const next: Candidate[] = [];
  candidates.forEach((candidate, rank) => {
    const { beam, token, sum } = candidate;
    if (next.length === beams) return;
    if (!stopTokens.has(token)) next.push(candidate);
    else if (rank < beams)
      own.ended.push({ tokens: [...newTokens(beam), token], score: sum / step ** lengthPenalty });
  });
  own.ended = own.ended.sort((one, other) => other.score - one.score).slice(0, beams);
  own.sums = next.map(({ sum }) => sum);
  const best = candidates[0]!.sum / step ** lengthPenalty;
  own.isDone = own.ended.length === beams && own.ended.at(-1)!.score >= best;
  return next;
}

/** The likeliest pairs of a beam and a token, of equal ones the first. */
function bestCandidates(
  sums: readonly number[],
  scored: readonly Float64Array[],
  count: number,
): readonly Candidate[] {
  const candidates: Candidate[] = [];
  scored.forEach((logs, beam) => {
    const least = logs.slice().sort()[Math.max(0, logs.length - count)]!;
    logs.forEach((log, token) => {
      if (log >= least) candidates.push({ beam, token, sum: sums[beam]! + log });
    });
  });
  return candidates.sort((one, other) => other.sum - one.sum).slice(0, count);
}

/** log softmax, in doubles. */
function logProbabilities(logits: Float32Array, earlier: readonly number[], penalty: number): Float64Array {
  const most = logits[indexOfLargest(logits)]!;
  const sum = logits.reduce((total, logit) => total + Math.exp(logit - most), 0);
  const logs = Float64Array.from(logits, (logit) => logit - most - Math.log(sum));
  return Float64Array.from(penalized(logs, penalty, earlier));
}
