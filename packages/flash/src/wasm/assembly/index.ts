// The module: what the host calls. It has no memory of its own, and no data in it: it works where tensors lie.
import { backwardHead } from './backward';
import { Call, Gradients } from './call';
import { forwardTile, tilesPerHead } from './forward';
import { layOut } from './lay-out';
import { roomAt } from './room';
import { beginWeights, weighTile } from './weights';

/** Bytes of the room that one thread needs for a pass. */
export function roomBytes(call: usize, isBackward: bool): f64 {
  return layOut(changetype<Call>(call), 0, isBackward) as f64;
}

export function beginRoom(call: usize, room: usize, isBackward: bool): void {
  layOut(changetype<Call>(call), room, isBackward);
}

export function tileCount(call: usize): i32 {
  const found = changetype<Call>(call);
  return found.B * found.Hkv * tilesPerHead(found);
}

/** The query rows of the tiles [from, to). */
export function forward(call: usize, room: usize, from: i32, to: i32): void {
  for (let tile = from; tile < to; tile++) forwardTile(changetype<Call>(call), roomAt(room), tile);
}

/** The key/value heads [from, to) of all batch entries. */
export function backward(call: usize, gradients: usize, room: usize, from: i32, to: i32): void {
  for (let head = from; head < to; head++) {
    backwardHead(changetype<Call>(call), changetype<Gradients>(gradients), roomAt(room), head);
  }
}

/** The queries from `first` on of a key/value head, whose weights `weights` then writes. */
export function beginRows(call: usize, room: usize, head: i32, first: i32): void {
  beginWeights(changetype<Call>(call), roomAt(room), head, first);
}

export function weights(call: usize, room: usize, first: i32, from: i32, to: i32, at: usize): bool {
  return weighTile(changetype<Call>(call), roomAt(room), first, from, to, at);
}
