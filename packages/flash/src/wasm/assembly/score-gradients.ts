// From gradients of weights to those of scores, and of the products that scores are made from.
import { Call } from './call';
import { Workspace } from './workspace';
import { exp } from './simd';

/** Four rows: scores become weights times what dropout multiplies by, gradients of these become those of scores. */
export function throughSoftmax(
  call: Call,
  workspace: Workspace,
  rows: usize,
  count: i32,
  scores: usize,
  products: usize,
  half: usize,
): void {
  const zero = f32x4.splat(0);
  const rowMax = v128.load(workspace.rowMax + rows);
  const inverse = v128.load(workspace.factors + rows);
  const delta = v128.load(workspace.delta + rows);
  const isRow = f32x4.ne(inverse, zero);
  const drops = call.dropoutThreshold !== 0;
  let kept = workspace.kept + half;
  for (let key = 0; key < count; key++, scores += 32, products += 32, kept += 32) {
    const weight = v128.and(f32x4.mul(exp(f32x4.sub(v128.load(scores), rowMax)), inverse), isRow);
    let product = v128.load(products);
    let keptWeight = weight;
    if (drops) {
      const factor = v128.load(kept);
      product = f32x4.mul(product, factor);
      keptWeight = f32x4.mul(weight, factor);
    }
    v128.store(scores, keptWeight);
    const gradient = f32x4.mul(weight, f32x4.sub(product, delta));
    v128.store(products, v128.and(gradient, f32x4.ne(weight, zero))); // hidden values may hold anything
  }
}

/** Gradients of capped scores become those of scores before softcap. */
export function throughCap(call: Call, workspace: Workspace, count: i32, scoreGradients: usize): void {
  if (call.softcap === 0) return;
  const end = scoreGradients + ((count as usize) << 5);
  const one = f32x4.splat(1);
  const zero = f32x4.splat(0);
  let tanhs = workspace.tanhs;
  for (let at = scoreGradients; at < end; at += 16, tanhs += 16) {
    const tanh = v128.load(tanhs);
    const gradient = f32x4.mul(v128.load(at), f32x4.sub(one, f32x4.mul(tanh, tanh)));
    v128.store(at, v128.and(gradient, f32x4.ne(v128.load(at), zero))); // hidden pairs may hold anything
  }
}
