// Where cells are made ready: a layer, a kernel, an input and a cache for each, checked before anything is timed.
import { peakBytes } from '@polyhead/conformance/memory';
import type { Attention, AttentionKernel } from '@polyhead/core';
import * as tf from '@tensorflow/tfjs-core';
import {
  type BytesOfCache,
  type CachedRows,
  type ComparedCache,
  cachedRows,
  checkBytes,
  releaseCache,
} from '../axes/caches';
import { startKernel } from '../axes/kernels';
import type { ComparedLayer } from '../axes/layers';
import type { CreatedPosition } from '../axes/positions';
import { named, type Registries } from '../axes/registries';
import type { ComparedVariant } from '../axes/variants';
import { type Turn, timed } from '../measure/timed';
import { checkCell } from './check-cell';
import { cachedTokens, callTokens, outputOf, type PhaseCall, runPhase } from './phases';
import { type CellAxes, placeOf } from './result';
import { type SharedWeights, sharedWeights } from './shared-weights';

/** A layer that cells share. */
export interface BenchLayer {
  readonly shape: ComparedLayer;
  readonly variant: ComparedVariant;
  readonly attention: Attention;
  readonly position?: CreatedPosition | undefined;
}

/** What a cell computes with. */
export interface Setup extends BenchLayer {
  readonly cell: CellAxes;
  readonly call: PhaseCall;
  readonly cacheKind?: ComparedCache | undefined;
  /** Made-up rows that stand in the cache before a call; with positions they are those of a prompt. */
  readonly rows?: CachedRows | undefined;
  /** As before each call. */
  reset(): void;
}

/** Checked, and ready to take turns. */
export interface Prepared {
  readonly cell: CellAxes;
  readonly variant: ComparedVariant;
  readonly shape: ComparedLayer;
  readonly attention: Attention;
  /** The kernel that ran. */
  readonly ran: string;
  /** Milliseconds of the first call. */
  readonly first: number;
  readonly peakBytes: number;
  readonly error: number;
  readonly storageError?: number | undefined;
  turn(): Promise<Turn>;
  /** The bytes of its cache, which is gone then. @throws WrongResultError where they are other than predicted */
  finish(): BytesOfCache | undefined;
  /** Of the cache; twice is once. */
  dispose(): void;
}

export interface Workbench {
  /** @throws what keeps the cell from being measured: a WrongResultError where its numbers are wrong */
  prepare(cell: CellAxes): Promise<Prepared>;
  dispose(): void;
}

/** What does not fit, or does not run here. */
class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

export function openWorkbench(registries: Registries): Workbench {
  const layers = new Map<string, BenchLayer>();
  const weights = new Map<string, SharedWeights>();
  const kernels = new Map<string, AttentionKernel>();
  const inputs = new Map<string, tf.Tensor3D>();

  const layerOf = (cell: CellAxes): BenchLayer => {
    const { backend, layer, variant, position, tokens } = cell;
    const id = [backend, layer, variant, position, ...(position === 'none' ? [] : [tokens])].join();
    const source = getOrMake(weights, `${backend}, ${layer}`, sharedWeights);
    return getOrMake(layers, id, () => makeLayer(cell, registries, source));
  };
  const kernelOf = async ({ backend, kernel }: CellAxes) => {
    const id = `${backend}, ${kernel}`;
    const known = kernels.get(id);
    if (known) return known;
    const started = await startKernel(named(registries.kernels, kernel)!);
    if (started.reason !== undefined) throw new RefusedError(started.reason);
    kernels.set(id, started.kernel);
    return started.kernel;
  };
  const inputOf = (cell: CellAxes, embedDim: number) => {
    const shape: [number, number, number] = [cell.batch, callTokens(cell), embedDim];
    return getOrMake(inputs, `${cell.backend}: ${shape}`, () =>
      tf.randomNormal<tf.Rank.R3>(shape, 0, 1, 'float32', shape[1]),
    );
  };
  return {
    async prepare(cell) {
      await tf.setBackend(cell.backend);
      const layer = layerOf(cell);
      const kernel = await kernelOf(cell);
      const query = inputOf(cell, layer.shape.config.embedDim);
      const cacheKind = named(registries.caches, cell.cache);
      const cache = cacheKind?.create(layer.attention.cacheShape(cell.batch), cell.tokens);
      const call: PhaseCall = { attention: layer.attention, kernel, query, ...(cache && { cache }) };
      try {
        return makeReady({ ...layer, ...fillCache(cell, layer, call), cell, call, cacheKind });
      } catch (error) {
        cache?.dispose();
        throw error;
      }
    },
    dispose() {
      for (const { attention, position } of layers.values()) {
        attention.dispose();
        position?.position.dispose();
      }
      for (const shared of weights.values()) shared.dispose();
      for (const kernel of kernels.values()) kernel.dispose?.();
      tf.dispose([...inputs.values()]);
    },
  };
}

function getOrMake<T>(made: Map<string, T>, id: string, make: () => T): T {
  const known = made.get(id) ?? make();
  made.set(id, known);
  return known;
}

/** Layers of one shape start alike, whatever the variant. */
function makeLayer(cell: CellAxes, registries: Registries, { initializer }: SharedWeights): BenchLayer {
  const shape = named(registries.layers, cell.layer)!;
  const variant = named(registries.variants, cell.variant)!;
  const unfit = variant.unfit(shape.config);
  if (unfit) throw new RefusedError(`there is no ${variant.name} of ${shape.name}, whose ${unfit}`);
  const position = named(registries.positions, cell.position)?.create({
    ...shape.config,
    longest: cell.tokens,
  });
  try {
    const parts = { initializer, ...(position && { position: position.position }) };
    return { shape, variant, attention: variant.create({ ...shape.config, seed: 1 }, parts), position };
  } catch (error) {
    position?.position.dispose();
    throw error;
  }
}

/** What stands in the cache before a call, and how it comes to be so again. */
function fillCache(
  cell: CellAxes,
  { attention, position, shape }: BenchLayer,
  call: PhaseCall,
): Pick<Setup, 'rows' | 'reset'> {
  const { cache } = call;
  const before = cachedTokens(cell);
  if (!cache) return { reset: () => {} };
  if (before === 0) return { reset: () => cache.reset() };
  const reset = () => cache.crop(Array.from({ length: cell.batch }, () => before));
  if (position) {
    // Keys are turned by where they stand: they come from a prompt.
    tf.tidy(() => {
      const size: [number, number, number] = [cell.batch, before, shape.config.embedDim];
      outputOf({ ...call, query: tf.randomNormal(size, 0, 1, 'float32', before) });
    });
    return { reset };
  }
  const rows = cachedRows(attention.cacheShape(cell.batch), before);
  rows.appendTo(cache);
  return { rows, reset };
}

/** The first call, the check, and then the turns. */
function makeReady(setup: Setup): Prepared {
  const { cell, call, cacheKind, variant, shape, attention, reset } = setup;
  const run = () => runPhase(cell.phase, call);
  let first = 0;
  const peak = peakBytes(() => {
    const start = performance.now();
    run().dataSync();
    first = performance.now() - start;
  });
  reset();
  const checked = checkCell(setup);
  return {
    ...{ cell, variant, shape, attention, first, peakBytes: peak },
    ...checked,
    async turn() {
      await tf.setBackend(cell.backend);
      reset();
      const { turn, result } = await timed(async () => {
        const output = tf.tidy(run);
        await output.data();
        return output;
      });
      result.dispose();
      return turn;
    },
    finish() {
      const { cache } = call;
      if (!cache || !cacheKind) return undefined;
      const bytes = releaseCache(cacheKind, cache, cell.tokens);
      checkBytes(placeOf(cell), bytes);
      return bytes;
    },
    dispose: () => call.cache?.dispose(),
  };
}
