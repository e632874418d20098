// What a full run of each job gave, kept in results.json: written by `npx pnpm job NAME`, read by the claims of docs/guide.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Row } from './recall';

export interface Results {
  readonly translation: { readonly right: number };
  readonly summaries: { readonly right: number };
  readonly captions: { readonly right: number };
  readonly recall: { readonly steps: number; readonly lstmSteps: number; readonly rows: readonly Row[] };
  readonly decisions: { readonly right: number; readonly byLuck: number; readonly journeys: number };
}

const path = fileURLToPath(new URL('results.json', import.meta.url));

export const readResults = (): Results => JSON.parse(readFileSync(path, 'utf8'));

/** Those of the other jobs stay. */
export function keepResults(results: Partial<Results>): void {
  writeFileSync(path, `${JSON.stringify({ ...readResults(), ...results }, null, 2)}\n`);
}
