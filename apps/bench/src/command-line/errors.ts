// The two ends of the program that are nobody's bug in it: both print their message alone.

/** The command line asks for something that cannot be done as it stands: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Attention came out wrong: exit code 1. */
export class WrongResultError extends Error {
  override readonly name = 'WrongResultError';
}
