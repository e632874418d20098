// A call of a layer compared with the same layer in doubles, on some of its heads, rows and columns.
import type { LayerResult } from '@polyhead/core';
import type * as tf from '@tensorflow/tfjs-core';
import type { RowsOfCache } from '../axes/caches';
import { WrongResultError } from '../command-line/errors';
import { evenlySpread } from '../measure/evenly-spread';
import { allowedError, relativeError } from '../measure/relative-error';
import type { SampledLayer } from './sampled-layer';

export interface CheckedCall {
  readonly what: string;
  readonly query: tf.Tensor3D; // [B, S, E]
  /** What a causal call finds in its cache. */
  readonly cached?: RowsOfCache;
  /** What stands there after the call, where that is other than what was given. */
  readonly stored?: RowsOfCache;
}

/**
 * Heads are computed from the input; the output projection is given the layer's own heads, all of them.
 *
 * @param result of a causal call, with its head outputs
 * @returns the largest difference, as a share of the largest number
 * @throws WrongResultError where float32 does not explain it
 */
export function checkLayer(layer: SampledLayer, call: CheckedCall, result: LayerResult): number {
  const [B, S] = call.query.shape;
  const errors = evenlySpread(2, B).flatMap((b) =>
    errorsOfEntry(layer, call, result, { b, rows: evenlySpread(3, S) }),
  );
  const error = errors.reduce((worst, e) => Math.max(worst, e), 0); // keeps NaN
  if (error <= allowedError) return error;
  throw new WrongResultError(
    `${call.what}: the output is off by ${error.toExponential(1)} of its largest number, more than ` +
      `${allowedError.toExponential(0)}; a wrong answer is not timed`,
  );
}

function errorsOfEntry(
  layer: SampledLayer,
  { query, cached, stored }: CheckedCall,
  { headOutputs, output }: LayerResult,
  { b, rows }: { readonly b: number; readonly rows: readonly number[] },
): number[] {
  const [, S, E] = query.shape;
  const [, H, , Dv] = headOutputs!.shape;
  const width = output.shape[2];
  const input = query.dataSync().subarray(b * S * E, (b + 1) * S * E);
  const [heads, outputs] = [headOutputs!.dataSync(), output.dataSync()];
  const headAt = (h: number, row: number) => {
    const start = ((b * H + h) * S + row) * Dv;
    return [...heads.subarray(start, start + Dv)];
  };
  const outputAt = (row: number, column: number) => outputs[(b * S + row) * width + column]!;
  const all = evenlySpread(H, H);
  return [
    relativeError(
      rows.flatMap((row) => layer.heads.flatMap((h) => headAt(h, row))),
      layer.headOutputs({
        input,
        rows,
        causal: true,
        ...(cached && { cached: cached.entry(b) }),
        ...(stored && { stored: stored.entry(b) }),
      }),
    ),
    relativeError(
      rows.flatMap((row) => layer.columns.map((column) => outputAt(row, column))),
      layer.output(rows.flatMap((row) => all.flatMap((h) => headAt(h, row)))),
    ),
  ];
}
