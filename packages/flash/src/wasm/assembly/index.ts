// The module: what the host calls. It has no memory of its own, and no data in it: it works where tensors lie.
import { backwardHead } from './backward';
import { Call, Gradients } from './call';
import { forwardTile, tilesPerHead } from './forward';
import { layoutWorkspace } from './layout-workspace';
import { workspaceAt } from './workspace';
import { beginWeights, weighTile } from './weights';

/** Bytes of the workspace that one thread needs for a pass. */
export function workspaceBytes(call: usize, isBackward: bool): f64 {
  return layoutWorkspace(changetype<Call>(call), 0, isBackward) as f64;
}

export function initWorkspace(call: usize, workspace: usize, isBackward: bool): void {
  layoutWorkspace(changetype<Call>(call), workspace, isBackward);
}

export function tileCount(call: usize): i32 {
  const tiled = changetype<Call>(call);
  return tiled.B * tiled.Hkv * tilesPerHead(tiled);
}

/** The query rows of the tiles [from, to). */
export function forward(call: usize, workspace: usize, from: i32, to: i32): void {
  for (let tile = from; tile < to; tile++) forwardTile(changetype<Call>(call), workspaceAt(workspace), tile);
}

/** The key/value heads [from, to) of all batch entries. */
export function backward(call: usize, gradients: usize, workspace: usize, from: i32, to: i32): void {
  for (let head = from; head < to; head++) {
    backwardHead(changetype<Call>(call), changetype<Gradients>(gradients), workspaceAt(workspace), head);
  }
}

/** The queries from `first` on of a key/value head, whose weights `weights` then writes. */
export function beginRows(call: usize, workspace: usize, head: i32, first: i32): void {
  beginWeights(changetype<Call>(call), workspaceAt(workspace), head, first);
}

export function weights(call: usize, workspace: usize, first: i32, from: i32, to: i32, at: usize): bool {
  return weighTile(changetype<Call>(call), workspaceAt(workspace), first, from, to, at);
}
