// Pairs of numbers turned by angles: y1 = x1 cos - x2 sin, y2 = x2 cos + x1 sin.
import type { HeadRows } from '@polyhead/core';
import {
  addressOnHeap,
  differentiable,
  emptyOnHeap,
  hasWasmHeap,
  heapMemory,
  wordsOf,
} from '@polyhead/core/kernel';
import { rowsOfHeads } from '@polyhead/core/layer';
import * as tf from '@tensorflow/tfjs-core';
import type { Angles } from './angles';

export interface Turn {
  readonly angles: Angles;
  readonly interleaved: boolean;
}

/**
 * @param heads [B, H, S, D]; numbers beyond the pairs stay as they are
 * @returns [B, H, S, D]
 */
export function turnPairs(heads: tf.Tensor4D, turn: Turn): tf.Tensor4D {
  if (heads.size === 0) return tf.clone(heads);
  const onHeap = hasWasmHeap();
  if (onHeap && tf.engine().state.gradientDepth === 0) return turnOnHeap(heads, turn);
  const turned = onHeap ? turnOnHeap : turnByOps;
  return differentiable(
    { inputs: [heads] },
    ([x]) => turned(x as tf.Tensor4D, turn),
    (gradient) => [turned(gradient, backwards(turn))], // the transpose of a rotation
  );
}

function backwards({ angles, ...turn }: Turn): Turn {
  return { ...turn, angles: { ...angles, sin: angles.sin.map((x) => -x) } };
}

/** Where the numbers of pair p lie in a head. */
function columnsOf({ angles, interleaved }: Turn) {
  const pairs = angles.cos.length / (angles.entries * angles.S);
  return interleaved ? { pairs, step: 2, gap: 1 } : { pairs, step: 1, gap: pairs };
}

function turnOnHeap(heads: tf.Tensor4D, turn: Turn): tf.Tensor4D {
  const turned = emptyOnHeap<tf.Rank.R4>(heads.shape);
  turnInto(rowsOfHeads(turned), rowsOfHeads(heads), turn);
  return turned;
}

/** Writes turned heads to rows on the heap, without a gradient. */
export function turnInto(to: HeadRows, heads: HeadRows, turn: Turn): void {
  const [B, H, S, D] = heads.shape;
  const { pairs, step, gap } = columnsOf(turn);
  const { cos, sin, entries } = turn.angles;
  const [from, target] = [addressOnHeap(heads.data) / 4, addressOnHeap(to.data) / 4];
  const { floats } = wordsOf(heapMemory()!);
  for (let b = 0; b < B; b++) {
    const tokens = to.tokens(b);
    for (let s = 0; s < tokens; s++) {
      const firstAngle = ((entries === 1 ? 0 : b * S) + s) * pairs;
      for (let h = 0; h < H; h++) {
        const row = from + heads.indexOf(b, h, s);
        const shift = target + to.indexOf(b, h, s) - row;
        let one = row;
        for (let angle = firstAngle; angle < firstAngle + pairs; angle++, one += step) {
          const c = cos[angle]!;
          const n = sin[angle]!;
          const x = floats[one]!;
          const y = floats[one + gap]!;
          floats[one + shift] = x * c - y * n;
          floats[one + gap + shift] = y * c + x * n;
        }
        for (let rest = row + 2 * pairs; rest < row + D; rest++) floats[rest + shift] = floats[rest]!;
      }
    }
  }
}

/** x cos + (x P) sin, where P puts -y in the place of x and x in that of y. */
function turnByOps(heads: tf.Tensor4D, turn: Turn): tf.Tensor4D {
  const [B, H, S, D] = heads.shape;
  const { pairs, step, gap } = columnsOf(turn);
  const { cos, sin, entries } = turn.angles;
  const swap = new Float32Array(D * D);
  for (let p = 0; p < pairs; p++) {
    swap[(p * step + gap) * D + p * step] = -1;
    swap[p * step * D + p * step + gap] = 1;
  }
  const spread = (ofPairs: Float32Array, ofRest: number) => {
    const numbers = new Float32Array(entries * S * D).fill(ofRest);
    for (let n = 0; n < ofPairs.length; n++) {
      const one = Math.floor(n / pairs) * D + (n % pairs) * step;
      numbers[one] = ofPairs[n]!;
      numbers[one + gap] = ofPairs[n]!;
    }
    return tf.tensor4d(numbers, [entries, 1, S, D]);
  };
  const rows = tf.reshape(heads, [B * H * S, D]);
  const swapped = tf.reshape(tf.matMul(rows, tf.tensor2d(swap, [D, D])), heads.shape);
  return tf.add(tf.mul(heads, spread(cos, 1)), tf.mul(swapped, spread(sin, 0)));
}
