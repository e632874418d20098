// Where labels go that would lie upon each other.

interface Range {
  readonly gap: number;
  readonly from: number;
  readonly to: number;
}

/** Places near those that are wanted, at least `gap` apart and within the range, where it is large enough for all. */
export function apart(wanted: readonly number[], { gap, from, to }: Range): number[] {
  const order = [...wanted.keys()].sort((a, b) => wanted[a]! - wanted[b]!);
  // Neighbours that touch become one block, which stands where it is nearest to what its members want.
  const blocks: { members: number[]; start: number }[] = [];
  const settle = (members: number[]) => {
    const middle = members.reduce((sum, n, k) => sum + wanted[n]! - k * gap, 0) / members.length;
    const length = (members.length - 1) * gap;
    return { members, start: Math.max(from, Math.min(middle, to - length)) };
  };
  for (const n of order) {
    let block = settle([n]);
    for (
      let last = blocks.at(-1);
      last && last.start + last.members.length * gap > block.start;
      last = blocks.at(-1)
    ) {
      blocks.pop();
      block = settle([...last.members, ...block.members]);
    }
    blocks.push(block);
  }
  const places: number[] = [];
  for (const { members, start } of blocks) {
    for (const [k, n] of members.entries()) places[n] = start + k * gap;
  }
  return places;
}
