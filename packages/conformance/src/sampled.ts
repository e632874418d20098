// Graphics cards in software are too slow for every test at each run: they run some, each backend others.

/**
 * One in `oneIn` of a list where POLYHEAD_SAMPLE is a number, which says with which to begin; all of it elsewhere.
 *
 * @param oneIn a number that the pattern of the list does not repeat with
 * @param further how much further on to begin
 * @param onTensorFlow one in how many on `tensorflow`, which takes long for small operations
 */
export function sampled<T>(
  all: readonly T[],
  oneIn: number,
  { further = 0, onTensorFlow = 1 } = {},
): readonly T[] {
  const { POLYHEAD_SAMPLE: first, POLYHEAD_BACKEND: backend } = process.env;
  const onHost = backend === 'tensorflow' ? onTensorFlow : 1;
  const share = first ? oneIn : onHost;
  const begin = Number(first ?? 0) + further;
  return all.filter((_, n) => n % share === begin % share);
}
