// Matrices copied into the order in which tiles read them: [terms, width] for each `width` rows of the left or columns of the
// right factor, with zeros beyond the end. So a tile reads two streams, whatever the steps of the factors are.

/**
 * `to[term][line] = from[line][term]` for `width` lines, zeros beyond `lines`.
 *
 * @param lineStep bytes from one line to the next
 * @param termStep bytes from one term to the next; either it or `lineStep` is 4
 * @param width 4, 6 or 8
 */
export function pack(
  from: usize,
  lineStep: usize,
  termStep: usize,
  lines: i32,
  terms: i32,
  width: i32,
  to: usize,
): void {
  const step = (width as usize) << 2;
  if (lines < width) {
    packPart(from, lineStep, termStep, lines, terms, width, to);
  } else if (lineStep === 4) {
    for (let term = 0; term < terms; term++, from += termStep, to += step) copyLine(from, to, width);
  } else {
    let term = 0;
    for (; term + 4 <= terms; term += 4, from += 16, to += step << 2) {
      transposeFour(from, lineStep, to, step);
      if (width === 8) transposeFour(from + (lineStep << 2), lineStep, to + 16, step);
      else if (width === 6) transposeTwo(from + (lineStep << 2), lineStep, to + 16, step);
    }
    if (term < terms) packPart(from, lineStep, termStep, width, terms - term, width, to);
  }
}

/** Four panels of eight columns side by side, whole ones: each line of the cache is read once. */
export function packPanels(from: usize, termStep: usize, terms: i32, to: usize, panel: usize): void {
  for (let term = 0; term < terms; term++, from += termStep, to += 32) {
    let at = to;
    v128.store(at, v128.load(from));
    v128.store(at, v128.load(from, 16), 16);
    v128.store((at += panel), v128.load(from, 32));
    v128.store(at, v128.load(from, 48), 16);
    v128.store((at += panel), v128.load(from, 64));
    v128.store(at, v128.load(from, 80), 16);
    v128.store((at += panel), v128.load(from, 96));
    v128.store(at, v128.load(from, 112), 16);
  }
}

/** Number by number: edges. */
function packPart(
  from: usize,
  lineStep: usize,
  termStep: usize,
  lines: i32,
  terms: i32,
  width: i32,
  to: usize,
): void {
  for (let term = 0; term < terms; term++, from += termStep) {
    let line = 0;
    for (let at = from; line < lines; line++, at += lineStep, to += 4) store<f32>(to, load<f32>(at));
    for (; line < width; line++, to += 4) store<f32>(to, 0);
  }
}

@inline
function copyLine(from: usize, to: usize, width: i32): void {
  v128.store(to, v128.load(from));
  if (width === 8) v128.store(to, v128.load(from, 16), 16);
  else if (width === 6) store<u64>(to, load<u64>(from, 16), 16);
}

/** Four numbers of each of four lines. */
@inline
function transposeFour(from: usize, lineStep: usize, to: usize, step: usize): void {
  const a = v128.load(from);
  const b = v128.load((from += lineStep));
  const c = v128.load((from += lineStep));
  const d = v128.load(from + lineStep);
  const ab = v128.shuffle<i32>(a, b, 0, 4, 1, 5); // a0 b0 a1 b1
  const cd = v128.shuffle<i32>(c, d, 0, 4, 1, 5);
  v128.store(to, v128.shuffle<i64>(ab, cd, 0, 2));
  v128.store((to += step), v128.shuffle<i64>(ab, cd, 1, 3));
  const abEnd = v128.shuffle<i32>(a, b, 2, 6, 3, 7); // a2 b2 a3 b3
  const cdEnd = v128.shuffle<i32>(c, d, 2, 6, 3, 7);
  v128.store((to += step), v128.shuffle<i64>(abEnd, cdEnd, 0, 2));
  v128.store(to + step, v128.shuffle<i64>(abEnd, cdEnd, 1, 3));
}

/** Four numbers of each of two lines. */
@inline
function transposeTwo(from: usize, lineStep: usize, to: usize, step: usize): void {
  const a = v128.load(from);
  const b = v128.load(from + lineStep);
  const start = v128.shuffle<i32>(a, b, 0, 4, 1, 5);
  const end = v128.shuffle<i32>(a, b, 2, 6, 3, 7);
  v128.store64_lane(to, start, 0);
  v128.store64_lane((to += step), start, 1);
  v128.store64_lane((to += step), end, 0);
  v128.store64_lane(to + step, end, 1);
}
