// Dropout: the same draws as everywhere (core/dropout.ts), from seed, batch entry, head and token order.
import { Call } from './call';
import { LANES, Panel, Workspace, rowOf } from './workspace';

function mix(x: i32): i32 {
  x = (x ^ ((x as u32) >>> 16)) * 0x85ebca6b;
  x = (x ^ ((x as u32) >>> 13)) * 0xc2b2ae35;
  return x ^ ((x as u32) >>> 16);
}

@inline
function mixFour(x: v128): v128 {
  x = i32x4.mul(v128.xor(x, i32x4.shr_u(x, 16)), i32x4.splat(0x85ebca6b));
  x = i32x4.mul(v128.xor(x, i32x4.shr_u(x, 13)), i32x4.splat(0xc2b2ae35));
  return v128.xor(x, i32x4.shr_u(x, 16));
}

/** Sets what all draws of a row begin with. */
export function beginDraws(call: Call, workspace: Workspace, slot: i32): void {
  const row = rowOf(workspace, slot);
  const query = load<i32>(call.queryOrder + (((workspace.b * call.Sq + row.i) as usize) << 2));
  const draws = mix(mix(mix(mix(call.dropoutSeed) + workspace.b) + row.h * 0x9e3779b1) + query * 0x85ebca77);
  store<i32>(workspace.draws + ((slot as usize) << 2), draws);
}

/** Multiplies weights by 0, or by what keeps their mean. */
export function dropWeights(call: Call, workspace: Workspace, panel: Panel, firstSlot: i32, weights: usize): void {
  const draws = workspace.draws + ((firstSlot as usize) << 2);
  const draws0 = v128.load(draws);
  const draws1 = v128.load(draws, 16);
  let order = call.keyOrder + (((workspace.b * call.Skv + panel.from) as usize) << 2);
  const threshold = i32x4.splat(call.dropoutThreshold as i32);
  const kept = f32x4.splat(call.dropoutKept);
  for (let key = panel.from; key < panel.to; key++, weights += 32, order += 4) {
    const ofKey = i32x4.splat(load<i32>(order) * 0x27d4eb2f);
    const keeps0 = i32x4.ge_u(mixFour(i32x4.add(draws0, ofKey)), threshold);
    const keeps1 = i32x4.ge_u(mixFour(i32x4.add(draws1, ofKey)), threshold);
    v128.store(weights, v128.and(f32x4.mul(v128.load(weights), kept), keeps0));
    v128.store(weights, v128.and(f32x4.mul(v128.load(weights, 16), kept), keeps1), 16);
  }
}
