// The module: what the host calls. It has no memory of its own, and no data in it: it works where tensors lie.
import { backwardHead } from './backward';
import { Call, Gradients } from './call';
import { forwardTile, tilesPerHead } from './forward';
import { layoutWorkspace } from './layout-workspace';
import { workspaceAt } from './workspace';
import { beginWeights, weighTile } from './weights';

/** Bytes of the workspace that one thread needs for a pass. */
export function workspaceBytes(call: usize): f64 {
  return layoutWorkspace(changetype<Call>(call), 0, isBackward(call)) as f64;
}

/** Divides the workspace of a thread, before its first unit of a pass. */
export function begin(call: usize, workspace: usize): void {
  layoutWorkspace(changetype<Call>(call), workspace, isBackward(call));
}

/** Units that threads share: tiles of query rows, or for gradients the key/value heads of all batch entries. */
export function unitCount(call: usize): i32 {
  const heads = headCount(call);
  return isBackward(call) ? heads : heads * tilesPerHead(changetype<Call>(call));
}

/** The last tiles of all heads first: a causal mask leaves them the most keys. */
export function unit(call: usize, workspace: usize, n: i32): void {
  if (isBackward(call)) return backward(call, workspace, n);
  const heads = headCount(call);
  const tiles = tilesPerHead(changetype<Call>(call));
  const tile = (n % heads) * tiles + tiles - 1 - n / heads;
  forward(call, workspace, tile, tile + 1);
}

/** A whole pass by one thread, head by head: keys that are near stay near. */
export function all(call: usize, workspace: usize): void {
  begin(call, workspace);
  if (!isBackward(call)) return forward(call, workspace, 0, unitCount(call));
  for (let head = 0; head < headCount(call); head++) backward(call, workspace, head);
}

/** The query rows of the tiles [from, to). */
export function forward(call: usize, workspace: usize, from: i32, to: i32): void {
  for (let tile = from; tile < to; tile++) forwardTile(changetype<Call>(call), workspaceAt(workspace), tile);
}

function backward(call: usize, workspace: usize, head: i32): void {
  const pass = changetype<Call>(call);
  backwardHead(pass, changetype<Gradients>(pass.gradients), workspaceAt(workspace), head);
}

function isBackward(call: usize): bool {
  return changetype<Call>(call).gradients !== 0;
}

/** Key/value heads of all batch entries. */
function headCount(call: usize): i32 {
  const sizes = changetype<Call>(call);
  return sizes.B * sizes.Hkv;
}

/** The queries from `first` on of a key/value head, whose weights `weights` then writes. */
export function beginRows(call: usize, workspace: usize, head: i32, first: i32): void {
  beginWeights(changetype<Call>(call), workspaceAt(workspace), head, first);
}

export function weights(call: usize, workspace: usize, first: i32, from: i32, to: i32, at: usize): bool {
  return weighTile(changetype<Call>(call), workspaceAt(workspace), first, from, to, at);
}
