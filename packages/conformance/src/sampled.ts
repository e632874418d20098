// Graphics cards in software are too slow for every test at each run: they run some, each backend others.

/**
 * One in `oneIn` of a list where POLYHEAD_SAMPLE is a number, which says with which to begin; all of it elsewhere.
 *
 * @param oneIn a number that the pattern of the list does not repeat with
 */
export function sampled<T>(all: readonly T[], oneIn: number): readonly T[] {
  const { POLYHEAD_SAMPLE: first } = process.env;
  return first ? all.filter((_, n) => n % oneIn === Number(first) % oneIn) : all;
}
