/** A 32-bit hash of a number and a name (FNV-1a over both), so that equal shapes do not start equal. */
export function seedOf(seed: number, name: string): number {
  let hash = 0x811c9dc5;
  for (const character of `${seed}/${name}`) {
    hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193);
  }
  return hash >>> 0;
}
