// Where the rows of stored keys and values lie, in token order. `attend` has judged them.
import type { StoredKeyValue } from '@polyhead/core';

/** Rows that follow each other. */
export interface StoredRun {
  readonly part: number; // its index among the parts
  readonly token: number; // the first
  readonly count: number;
  readonly row: number; // of head 0
}

/** The runs of a batch entry, those of all parts one after another. */
export function storedRuns({ parts }: StoredKeyValue, b: number): readonly StoredRun[] {
  const all: StoredRun[] = [];
  let token = 0;
  parts.forEach((each, part) => {
    const runs = each.runs(b);
    for (let r = 0; r < runs.length; r += 2) {
      const [row, count] = [runs[r]!, runs[r + 1]!];
      all.push({ part, token, count, row });
      token += count;
    }
  });
  return all;
}
