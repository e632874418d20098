// Heads of all layers in one row, and what each is called.

/** `L2H3` is head 3 of layer 2, both from 1. @param head its place in the row of all heads, from 0 */
export const headName = (head: number, headsPerLayer: number) =>
  `L${Math.floor(head / headsPerLayer) + 1}H${(head % headsPerLayer) + 1}`;

/** The places of the largest numbers, the largest first; NaN is never among them. */
export function strongestHeads(scores: readonly number[], count: number): number[] {
  return [...scores.keys()]
    .filter((head) => !Number.isNaN(scores[head]!))
    .sort((a, b) => scores[b]! - scores[a]!)
    .slice(0, count);
}
