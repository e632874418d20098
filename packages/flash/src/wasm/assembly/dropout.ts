// Dropout: the same draws as everywhere (core/dropout.ts), from seed, batch entry, head and token order.
import { Call } from './call';
import { LANES, Panel, Room, rowOf } from './room';

function mix(x: i32): i32 {
  x = (x ^ ((x as u32) >>> 16)) * 0x85ebca6b;
  x = (x ^ ((x as u32) >>> 13)) * 0xc2b2ae35;
  return x ^ ((x as u32) >>> 16);
}

/** The part of the draws that a row shares. */
export function drawsOfRow(call: Call, b: i32, h: i32, i: i32): i32 {
  const query = load<i32>(call.queryOrder + ((b as usize) << 2)) + i;
  return mix(mix(mix(mix(call.dropoutSeed) + b) + h * 0x9e3779b1) + query * 0x85ebca77);
}

/** Multiplies weights by 0, or by what keeps their mean. */
export function dropWeights(call: Call, room: Room, panel: Panel, firstSlot: i32, weights: usize): void {
  const order = load<i32>(call.keyOrder + ((room.b as usize) << 2));
  for (let lane = 0; lane < LANES; lane++) {
    const row = rowOf(room, firstSlot + lane);
    if (row.n < 0) continue;
    let at = weights + ((lane as usize) << 2);
    for (let key = panel.from; key < panel.to; key++, at += 32) {
      const kept = (mix(row.draws + (order + key) * 0x27d4eb2f) as u32) >= call.dropoutThreshold;
      store<f32>(at, kept ? load<f32>(at) * call.dropoutKept : 0);
    }
  }
}
