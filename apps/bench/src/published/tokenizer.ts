// Text to token ids by the most probable segmentation (Kudo 2018, arXiv:1804.10959): a unigram vocabulary and Viterbi.

export interface Token {
  readonly id: number;
  readonly piece: string;
}

export interface Encoding {
  readonly tokens: readonly Token[];
  /** Characters that no piece covers, in order. The model has no id for them: 0 is its padding. */
  readonly unknown: readonly string[];
}

export type Tokenizer = (text: string) => Encoding;

/** Stands for a space, and for the start of the text. */
export const wordStart = '▁';

const reservedIds = 6; // unknown, <s>, </s> and three spare ones are not text
const unknownPenalty = 10; // below the rarest piece, as SentencePiece does: any known split is preferred

/** NFKC, control characters dropped, runs of white space (line breaks too) to one space. */
export function normalizeText(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/\s+/gu, ' ')
    .replace(/\p{Cc}/gu, '')
    .trim();
}

export function createTokenizer(vocabulary: readonly (readonly [piece: string, score: number])[]): Tokenizer {
  const pieces = new Map<string, { readonly id: number; readonly score: number }>();
  let longest = 1;
  let lowest = 0;
  for (const [id, [piece, score]] of vocabulary.entries()) {
    if (id < reservedIds) continue;
    pieces.set(piece, { id, score });
    longest = Math.max(longest, [...piece].length);
    lowest = Math.min(lowest, score);
  }

  return (text) => {
    const normalized = normalizeText(text);
    if (normalized === '') return { tokens: [], unknown: [] };
    const characters = [...`${wordStart}${normalized.replaceAll(' ', wordStart)}`];
    const n = characters.length;
    // best[end]: the most probable way to write the first `end` characters, and the piece it ends with.
    const best = [{ score: 0, start: 0, piece: '', id: 0 }];
    for (let end = 1; end <= n; end++) {
      const start = end - 1;
      let winner = {
        score: best[start]!.score + lowest - unknownPenalty,
        start,
        piece: characters[start]!,
        id: 0,
      };
      let piece = '';
      for (let from = start; from >= Math.max(0, end - longest); from--) {
        piece = characters[from]! + piece;
        const known = pieces.get(piece);
        if (known === undefined) continue;
        const score = best[from]!.score + known.score;
        if (score > winner.score) winner = { score, start: from, piece, id: known.id };
      }
      best.push(winner);
    }
    const path = [];
    for (let end = n; end > 0; end = best[end]!.start) path.push(best[end]!);
    path.reverse();
    return {
      tokens: path.filter((step) => step.id !== 0).map(({ id, piece }) => ({ id, piece })),
      unknown: path.filter((step) => step.id === 0).map((step) => step.piece),
    };
  };
}
