// The sections of `bench heads`, in the order in which they are measured and printed.
import { knownKinds } from './known-kinds';
import type { Section } from './section';

export const sections: readonly Section[] = [knownKinds];
