// Graphics cards in software are too slow for every test at each run: they run some, each backend others.

/**
 * One in `oneIn` of a list where POLYHEAD_SAMPLE is a number, which says with which to begin; all of it elsewhere.
 *
 * @param oneIn a number that the pattern of the list does not repeat with
 * @param further how much further on to begin
 */
export function sampled<T>(all: readonly T[], oneIn: number, further = 0): readonly T[] {
  const { POLYHEAD_SAMPLE: first } = process.env;
  const begin = Number(first) + further;
  return first ? all.filter((_, n) => n % oneIn === begin % oneIn) : all;
}
