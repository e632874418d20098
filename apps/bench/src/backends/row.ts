import type { Costs } from './costs';

/** A line of the table: a backend in one place, what it costs, or why it does not run there. */
export interface BackendRow {
  readonly where: string; // Node, Chromium, ...
  readonly backend: string;
  readonly outcome: { readonly device: string; readonly costs: Costs } | { readonly reason: string };
}
