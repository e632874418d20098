// The sections of `bench heads`, in the order in which they are measured and printed.
import { differences } from './differences';
import { knownKinds } from './known-kinds';
import { labelledPairs } from './labelled-pairs';
import { logitsOfHeads } from './logits-of-heads';
import { rollout } from './rollout';
import type { Section } from './section';
import { silencedHeads } from './silenced-heads';

export const sections: readonly Section[] = [
  ...[knownKinds, labelledPairs, differences, rollout],
  ...[silencedHeads, logitsOfHeads],
];
