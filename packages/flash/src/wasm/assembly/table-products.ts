// What the tables have in common: products of their rows with eight rows, made once and met again, and sums by table row.
import { Table } from './call';
import { keysTimesOne } from './decode-products';
import { keysTimesPanel } from './products';
import { LANES, Panel, Products, Workspace } from './workspace';
import { madd, sums } from './simd';

/** Where the rows of a panel's head begin. */
@inline
export function tableOf(table: Table, panel: Panel): usize {
  return table.rows + (((panel.h * table.headStride) as usize) << 2);
}

/** Where the gradients of a head's rows begin. */
@inline
export function gradientOf(gradient: usize, table: Table, h: i32, bytesOfNumber: i32): usize {
  return gradient + ((h * table.headStride * bytesOfNumber) as usize);
}

/** Numbers of a panel's group, [R, LANES]. */
@inline
export function ofGroup(numbers: usize, R: i32, group: i32): usize {
  return numbers + (((group * R * LANES) as usize) << 2);
}

/** The rows of a panel that count: all eight, unless there are few. */
@inline
export function lanesOf(workspace: Workspace): i32 {
  return workspace.fewRows === 0 ? LANES : workspace.fewRows;
}

/** Forgets the products of earlier queries or keys. */
@inline
export function forget(products: Products): void {
  products.stamp++;
}

/** `numbers[key][row] += products[table row of the pair][row]` */
export function addProducts(workspace: Workspace, count: i32, products: usize, numbers: usize): void {
  const lookup = workspace.lookup;
  if (lookup.uniform === -1) return;
  const end = numbers + ((count as usize) << 5);
  if (lookup.uniform >= 0) {
    const added0 = v128.load(products + ((lookup.uniform as usize) << 5));
    const added1 = v128.load(products + ((lookup.uniform as usize) << 5), 16);
    for (; numbers < end; numbers += 32) {
      v128.store(numbers, f32x4.add(v128.load(numbers), added0));
      v128.store(numbers, f32x4.add(v128.load(numbers, 16), added1), 16);
    }
    return;
  }
  const lanes = (lanesOf(workspace) as usize) << 2;
  for (let rows = lookup.at; numbers < end; numbers += 32, rows += lookup.stride) {
    for (let lane: usize = 0; lane < lanes; lane += 4) {
      const row = load<i32>(rows + lane);
      if (row < 0) continue;
      const at = numbers + lane;
      store<f32>(at, load<f32>(at) + load<f32>(products + ((row as usize) << 5) + lane));
    }
  }
}

/** `sums[table row of the pair][row] += numbers[key][row]` */
export function sumByRow(workspace: Workspace, count: i32, numbers: usize, sums: usize): void {
  const lookup = workspace.lookup;
  if (lookup.uniform === -1) return;
  const end = numbers + ((count as usize) << 5);
  if (lookup.uniform >= 0) {
    const to = sums + ((lookup.uniform as usize) << 5);
    let sum0 = v128.load(to);
    let sum1 = v128.load(to, 16);
    for (; numbers < end; numbers += 32) {
      sum0 = f32x4.add(sum0, v128.load(numbers));
      sum1 = f32x4.add(sum1, v128.load(numbers, 16));
    }
    v128.store(to, sum0);
    v128.store(to, sum1, 16);
    return;
  }
  const lanes = (lanesOf(workspace) as usize) << 2;
  for (let rows = lookup.at; numbers < end; numbers += 32, rows += lookup.stride) {
    for (let lane: usize = 0; lane < lanes; lane += 4) {
      const row = load<i32>(rows + lane);
      if (row < 0) continue;
      const at = sums + ((row as usize) << 5) + lane;
      store<f32>(at, load<f32>(at) + load<f32>(numbers + lane));
    }
  }
}

/** Narrows the rows looked up to those of some keys. */
export function rangeOf(workspace: Workspace, entries: usize, count: i32): void {
  let from = i32.MAX_VALUE;
  let to = -1;
  for (let key = 0; key < count; key++, entries += workspace.lookup.stride) {
    for (let n: usize = 0; n < 32; n += 4) {
      const row = load<i32>(entries + n);
      if (row < 0) continue;
      from = min(from, row);
      to = max(to, row);
    }
  }
  workspace.lookup.from = from;
  workspace.lookup.to = to + 1;
}

/** Makes what is missing of the products of rows [from, to) of a table with a panel, [size, LANES]. */
export function makeProducts(
  workspace: Workspace,
  products: Products,
  group: i32,
  rows: usize,
  width: i32,
  panel: usize,
  size: i32,
): void {
  const stamps = products.stamps + (((group * products.R) as usize) << 2);
  const numbers = ofGroup(products.numbers, products.R, group);
  const stride = (width as usize) << 2;
  let row = workspace.lookup.from;
  while (row < workspace.lookup.to) {
    if (load<i32>(stamps + ((row as usize) << 2)) === products.stamp) {
      row++;
      continue;
    }
    const first = row;
    while (row < workspace.lookup.to && load<i32>(stamps + ((row as usize) << 2)) !== products.stamp) {
      store<i32>(stamps + ((row as usize) << 2), products.stamp);
      row++;
    }
    const from = rows + (first as usize) * stride;
    const to = numbers + ((first as usize) << 5);
    if (workspace.fewRows === 0) keysTimesPanel(from, stride, row - first, panel, size, to);
    else timesFew(workspace, from, stride, row - first, panel, size, to);
  }
}

export function timesFew(
  workspace: Workspace,
  rows: usize,
  stride: usize,
  count: i32,
  queries: usize,
  D: i32,
  to: usize,
): void {
  if (workspace.fewRows === 1) {
    keysTimesOne(rows, stride, count, queries, D, to);
    return;
  }
  const bytes = (D as usize) << 2;
  for (let n = 0; n < count; n++, rows += stride, to += 32) {
    for (let row: usize = 0; row < 4; row++) store<f32>(to + (row << 2), dot(rows, queries + row * bytes, D));
  }
}

export function dot(a: usize, b: usize, D: i32): f32 {
  let sum = f32x4.splat(0);
  for (let at: usize = 0; at < (D as usize) << 2; at += 16)
    sum = madd(v128.load(a + at), v128.load(b + at), sum);
  return f32x4.extract_lane(sums(sum, sum, sum, sum), 0);
}
