// Sums over query rows for each key of a tile: the gradients of keys and values.
import { addTo } from './products';
import { LANES, panelOf, Workspace } from './workspace';
import { madd } from './simd';

/**
 * `to[key] += Σ weights[panel][key][row] · rows[panel][row]` for four keys and eight columns, over the panels that see one of
 * the keys. Weights of pairs outside of what a panel sees are 0.
 *
 * @param weights of the first key, of panel 0
 */
@inline
function fourKeys(
  workspace: Workspace,
  key: i32,
  weights: usize,
  panelBytes: usize,
  rows: usize,
  rowBytes: usize,
  to: usize,
  toBytes: usize,
): void {
  let r00 = f32x4.splat(0);
  let r01 = r00;
  let r10 = r00;
  let r11 = r00;
  let r20 = r00;
  let r21 = r00;
  let r30 = r00;
  let r31 = r00;
  for (let p = 0; p < workspace.panelCount; p++) {
    const panel = panelOf(workspace, p);
    let a = weights + (p as usize) * panelBytes;
    let b = rows + ((p * LANES) as usize) * rowBytes;
    if (panel.from >= key + 4 || panel.to <= key) continue;
    for (let row = 0; row < LANES; row++) {
      const b0 = v128.load(b);
      const b1 = v128.load(b, 16);
      const s0 = v128.load32_splat(a);
      r00 = madd(s0, b0, r00);
      r01 = madd(s0, b1, r01);
      const s1 = v128.load32_splat(a, 32);
      r10 = madd(s1, b0, r10);
      r11 = madd(s1, b1, r11);
      const s2 = v128.load32_splat(a, 64);
      r20 = madd(s2, b0, r20);
      r21 = madd(s2, b1, r21);
      const s3 = v128.load32_splat(a, 96);
      r30 = madd(s3, b0, r30);
      r31 = madd(s3, b1, r31);
      a += 4;
      b += rowBytes;
    }
  }
  addTo(to, r00, r01);
  addTo(to + toBytes, r10, r11);
  addTo(to + 2 * toBytes, r20, r21);
  addTo(to + 3 * toBytes, r30, r31);
}

function oneKey(
  workspace: Workspace,
  key: i32,
  weights: usize,
  panelBytes: usize,
  rows: usize,
  rowBytes: usize,
  to: usize,
): void {
  let r0 = f32x4.splat(0);
  let r1 = r0;
  for (let p = 0; p < workspace.panelCount; p++) {
    const panel = panelOf(workspace, p);
    if (panel.from > key || panel.to <= key) continue;
    let a = weights + (p as usize) * panelBytes;
    let b = rows + ((p * LANES) as usize) * rowBytes;
    for (let row = 0; row < LANES; row++, a += 4, b += rowBytes) {
      const s = v128.load32_splat(a);
      r0 = madd(s, v128.load(b), r0);
      r1 = madd(s, v128.load(b, 16), r1);
    }
  }
  addTo(to, r0, r1);
}

/** `to[key] += Σ weights[panel][key][row] · rows[panel][row]` for the first `count` keys of a tile. */
export function addToKeys(
  workspace: Workspace,
  count: i32,
  weights: usize,
  panelBytes: usize,
  rows: usize,
  columns: i32,
  to: usize,
): void {
  const bytes = (columns as usize) << 2;
  for (let column: usize = 0; column < bytes; column += 32) {
    let key = 0;
    let at = to + column;
    let from = weights;
    for (; key + 4 <= count; key += 4, at += bytes << 2, from += 128) {
      fourKeys(workspace, workspace.tileFrom + key, from, panelBytes, rows + column, bytes, at, bytes);
    }
    for (; key < count; key++, at += bytes, from += 32) {
      oneKey(workspace, workspace.tileFrom + key, from, panelBytes, rows + column, bytes, at);
    }
  }
}
