// Where rows hold NaN or Infinity, gradients are summed pair by pair, without those that are hidden: 0 times NaN is NaN.
import { Call } from './call';
import { allFinite } from './products';
import { LANES, panelOf, Room } from './room';
import { scoreGradientsOf, scoresOf } from './scores';

/** Whether hidden pairs do no harm: their weights are 0, and 0 times a number is 0. */
export function isSafe(room: Room, count: i32): bool {
  const slots = room.panelCount * LANES;
  return (
    allFinite(room.keys, room.keyStride, count, room.keyColumns) &&
    allFinite(room.queryRows, (room.keyColumns as usize) << 2, slots, room.keyColumns) &&
    allFinite(room.outputGradientRows, (room.columns as usize) << 2, slots, room.columns)
  );
}

/** The same sums, pair by pair, without those that are hidden. */
export function addPairs(call: Call, room: Room, p: i32, toKeys: usize, toValues: usize): void {
  const panel = panelOf(room, p);
  for (let key = panel.from; key < panel.to; key++) {
    const place = (key - room.tileFrom) as usize;
    const keyBytes = (room.keyColumns as usize) << 2;
    const valueBytes = (room.columns as usize) << 2;
    for (let lane = 0; lane < LANES; lane++) {
      const slot = (p * LANES + lane) as usize;
      const at = (place << 5) + ((lane as usize) << 2);
      const weight = load<f32>(scoresOf(call, room, p) + at);
      const gradient = load<f32>(scoreGradientsOf(call, room, p) + at);
      const values = room.outputGradientRows + slot * valueBytes;
      if (weight !== 0) addTimes(toValues + place * valueBytes, weight, values, room.columns);
      if (gradient === 0) continue;
      addTimes(toKeys + place * keyBytes, gradient, room.queryRows + slot * keyBytes, room.keyColumns);
      addTimes(
        room.queryGradients + slot * keyBytes,
        gradient,
        room.keys + place * room.keyStride,
        room.keyColumns,
      );
    }
  }
}

function addTimes(to: usize, factor: f32, from: usize, count: i32): void {
  for (let n: usize = 0; n < (count as usize) << 2; n += 4) {
    store<f32>(to + n, load<f32>(to + n) + factor * load<f32>(from + n));
  }
}
