// The sections of `bench heads`, in the order in which they are measured and printed.
import { knownKinds } from './known-kinds';
import { labelledPairs } from './labelled-pairs';
import { logitsOfHeads } from './logits-of-heads';
import type { Section } from './section';
import { silencedHeads } from './silenced-heads';

export const sections: readonly Section[] = [knownKinds, labelledPairs, silencedHeads, logitsOfHeads];
