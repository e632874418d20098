// Which parts of a call are computed at once. Keys that no row of a block sees are left out of its products.
import * as tf from '@tensorflow/tfjs-core';
import { addAll } from '../backend/device-math';
import { backendTraits } from '../backend/traits';
import { hasWasmHeap } from '../backend/wasm-heap';
import type { CallSizes } from '../contract/kernel';
import type { MaskPlan, Span } from '../contract/mask';

/** Batch entries, query heads and query rows computed at once, and the keys any of them sees. */
export interface Block {
  readonly batch: Span;
  readonly heads: Span;
  readonly rows: Span;
  readonly keys: Span;
}

/** For each of the three axes, what happens to the results of its blocks. */
export type Join = readonly [batch: 'concat' | 'sum', heads: 'concat' | 'sum', rows: 'concat' | 'sum'];

// Measured on wasm: from here on one head at a time, each a product of two plain matrices, beats one batched product.
const batchedUpTo = { rows: 16, products: 1e5 };
// Small blocks skip more hidden keys, large ones amortize packing an operand.
const rowsWhereKeysAreSkipped = 256;
const scoresPerBlock = 2 ** 22;

type Parts = Readonly<Record<string, tf.Tensor4D>>;

/**
 * Calls `run` for each block and joins what it returns, by name. Heads are innermost: what `prepare` makes of a block
 * of all heads serves each of its parts.
 */
export function overBlocks<Prepared>(
  { sizes, plan }: { readonly sizes: CallSizes; readonly plan: MaskPlan },
  {
    prepare,
    run,
    joins,
  }: {
    prepare: (block: Block) => Prepared;
    run: (block: Block, prepared: Prepared) => Parts;
    joins: Readonly<Record<string, Join>>;
  },
): Parts {
  const { batches, heads, rows } = partition(sizes, plan);
  const overHeads = (block: Block) => {
    const prepared = prepare(block);
    return joinParts(
      heads.map((span) => tf.tidy(() => run({ ...block, heads: span }, prepared))),
      1,
      joins,
    );
  };
  const overRows = (batch: Span) => {
    const parts = rows.map((span) => {
      const keys = plan.visibleKeys({ batch, rows: span });
      return tf.tidy(() => overHeads({ batch, heads: [0, sizes.Hq], rows: span, keys }));
    });
    return joinParts(parts, 2, joins);
  };
  return tf.tidy(() =>
    joinParts(
      batches.map((batch) => tf.tidy(() => overRows(batch))),
      0,
      joins,
    ),
  );
}

function partition({ B, Hq, Hkv, Sq, Skv, D }: CallSizes, plan: MaskPlan) {
  const G = Hq / Hkv;
  const { maxDispatch: mostRows } = backendTraits(); // of all heads of a block
  const headByHead = hasWasmHeap() && G * Sq >= batchedUpTo.rows && G * Sq * Skv * D > batchedUpTo.products;
  const [batchAtOnce, heads] = headByHead
    ? [1, G]
    : [Math.min(B, Math.max(1, Math.floor(mostRows / Hq))), Hq];
  const headsAtOnce = batchAtOnce * heads;
  const rowsThatFit = Math.max(16, Math.floor(scoresPerBlock / (headsAtOnce * Math.max(1, Skv))));
  const rows = Math.min(rowsThatFit, plan.full ? Sq : rowsWhereKeysAreSkipped);
  return {
    batches: chunks(B, batchAtOnce),
    heads: chunks(Hq, heads),
    rows: chunks(Sq, Math.min(rows, Math.max(1, Math.floor(mostRows / headsAtOnce)))),
  };
}

/** [0, count) in spans of at most `size`; one empty span where there is nothing. */
function chunks(count: number, size: number): Span[] {
  const spans: Span[] = [];
  for (let from = 0; from < count; from += size) spans.push([from, Math.min(count, from + size)]);
  return spans.length > 0 ? spans : [[0, 0]];
}

function joinParts(parts: readonly Parts[], axis: 0 | 1 | 2, joins: Readonly<Record<string, Join>>): Parts {
  if (parts.length === 1) return parts[0]!;
  const joined = Object.keys(parts[0]!).map((name) => {
    const tensors = parts.map((part) => part[name]!);
    return [name, joins[name]![axis] === 'sum' ? addAll(tensors) : tf.concat(tensors, axis)];
  });
  return Object.fromEntries(joined);
}
