// What `bench`, `bench --quick` and `bench full` write, and what compares and draws it reads: one schema with a version.
// Numbers are milliseconds, bytes and operations; what was not measured is absent.
//
// Readers need no more than `readResult(path)`. A section that a later version adds is optional and survives reading; a
// change that an older reader would misread raises `version`.
import { z } from 'zod';
import { reportSections } from '../report/sections';

export const resultFormat = 'polyhead-bench';
export const resultVersion = 1;

/** One line: no escape of a file reaches a terminal. */
const text = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^\P{C}*$/u, 'must be printable text');
const name = text(200).min(1);
const count = z.int().nonnegative();
const positive = z.number().positive();
const share = z.number().nonnegative();

/** Where a cell stands: one value on each axis. Names are those of the registries in `src/axes`. */
const axes = z.object({
  layer: name,
  variant: name,
  /** `none`: without positions. */
  position: name,
  /** `best`: the one that `firstSupported([flash(), composed()])` takes. */
  kernel: name,
  /** `none`: all keys are projected in the call itself. */
  cache: name,
  backend: name,
  phase: z.enum(['prefill', 'decode', 'training']),
  /** Prefill and training: in the call. Decode: in the cache after the call, which adds one. */
  tokens: count.min(1),
  batch: count.min(1),
});

/** The comparison whose cells took turns: times of other comparisons were measured at other moments. */
const turns = z.object({ turns: name.optional() });

const times = z
  .object({
    samples: count.min(1),
    p10: positive,
    p25: positive,
    median: positive,
    p75: positive,
    p90: positive,
  })
  .refine(({ p10, p25, median, p75, p90 }) => p10 <= p25 && p25 <= median && median <= p75 && p75 <= p90, {
    message: 'percentiles must rise',
  });

const cell = z.object({
  ...axes.shape,
  ...turns.shape,
  /** Key/value heads of the variant, and the numbers that its layer learns. */
  keyValueHeads: count,
  parameters: count,
  /** The name of the kernel that ran. */
  ran: name,
  /** The first call, which compiles and packs what it needs: milliseconds, apart from the others. */
  first: positive,
  /** Of the calls after it. */
  time: times,
  /** The median of processor time of these calls, which a busy machine changes least; absent where several threads compute. */
  processorTime: z.number().nonnegative().optional(),
  processorSpread: z.object({ p10: share, p25: share, p75: share, p90: share }).optional(),
  /** Of all batch entries together. */
  tokensPerSecond: positive,
  /** Of a call: operations of projections and of visible pairs, and the bytes that must go through memory. */
  flop: positive.optional(),
  bytesMoved: positive.optional(),
  /** At the median: 10⁹ operations and 10⁹ bytes a second, and their shares of what the backend was measured to reach. */
  gflops: positive.optional(),
  gigabytesPerSecond: positive.optional(),
  shareOfPeak: share.optional(),
  shareOfBandwidth: share.optional(),
  /** The most bytes of tensors at once in a call, beyond those before it. */
  peakBytes: count,
  /** Of the cache with all its tokens; absent without a cache. The three agree. */
  cacheBytes: z.object({ predicted: count, held: count, allocated: count }).optional(),
  /** Largest difference to doubles, as a share of the largest number. */
  error: share,
  /** How far numbers that a cache keeps are from those it was given, as a share of the largest: of lossy caches. */
  storageError: share.optional(),
  /** Processor time over time by the clock; more than 1 with threads. */
  processorShare: share,
  /** Less of a processor was had than a quiet machine gives: ratios to this cell are unsure. */
  busy: z.boolean(),
});

/** A cell that has no numbers: a wrong answer, which is not timed, or what cannot be. */
const absentCell = z.object({
  ...axes.shape,
  ...turns.shape,
  why: z.enum(['wrong', 'refused', 'too large']),
  reason: text(2000),
});

const backend = z.object({
  name,
  /** What really computes. */
  device: text(500),
  passedOver: z.array(z.object({ name, reason: text(2000) })),
  /** What this machine reached in the same run, with one thread of this backend where it has threads. */
  peak: z.object({ gflops: positive, gigabytesPerSecond: positive, how: text(500) }).optional(),
});

const layer = z.object({ name, title: text(200), embedDim: count.min(1), numHeads: count.min(1) });

/** Arithmetic alone: what keys and values of one sequence take in one layer, by length. */
const memory = z.object({
  layer: name,
  variant: name,
  cache: name,
  keyValueHeads: count,
  weightBytes: count,
  bytes: z.array(z.object({ tokens: count.min(1), bytes: count })).min(1),
  /** The least tokens whose keys and values take more bytes than the weights; absent where none do. */
  outweighsFrom: count.optional(),
});

/** Two sides of one comparison: times are medians of cells that took turns. */
const side = z.object({
  kernel: name,
  keyValueHeads: count,
  cache: name,
  milliseconds: positive,
  tokensPerSecond: positive,
  cacheBytes: count,
  error: share,
});
const contrast = z.object({ from: side, to: side, speedUp: positive });

/** What each choice brings a token, apart, in one layer at its longest context. */
const brought = z.object({
  layer: text(200),
  tokens: count,
  batch: count,
  cache: name,
  kernel: contrast.optional(),
  heads: contrast.optional(),
  /** Of the milliseconds that fewer heads save, those that smaller projections save, seen where a cache is almost empty. */
  projections: z
    .object({ tokens: count, saved: z.number(), ofProjections: z.number(), share: z.number() })
    .optional(),
  storage: contrast.optional(),
  outweighs: z.array(z.object({ keyValueHeads: count, tokens: count })),
  /** One of the cells compared was measured on a busy machine. */
  busy: z.boolean(),
});

/** Attention of the published encoder beside its own graph, and its layers with fewer key/value heads. */
const reproduction = z.object({
  sentences: count,
  tokens: count,
  /** Largest differences. */
  layers: z.array(z.object({ weights: share, output: share })),
});
const study = z.object({
  sentences: count,
  tokens: count,
  layers: z.array(
    z.object({
      variants: z.array(
        z.object({
          keyValueHeads: count,
          parameters: count,
          cacheBytesPerToken: count,
          /** Cosine of the output to that of the published layer. */
          similarity: z.object({ mean: z.number(), p10: z.number() }),
        }),
      ),
      heads: z.array(
        z.object({
          pattern: text(100),
          patternShare: share,
          entropy: z.number(),
          distance: z.number(),
          ablation: z.number(),
        }),
      ),
    }),
  ),
});

export const resultSchema = z.looseObject({
  format: z.literal(resultFormat),
  version: z.literal(resultVersion),
  /** Such as `bench --quick`. */
  command: text(500).min(1),
  /** False while `bench full` has cells to measure. */
  complete: z.boolean(),
  /** When it began, in ISO 8601, and seconds that it took, interruptions left out. */
  begun: z.iso.datetime(),
  seconds: z.number().nonnegative(),
  machine: z.object({
    cpu: text(200),
    cores: count.min(1),
    memoryBytes: count,
    platform: text(200),
  }),
  versions: z.object({ tfjs: name, node: name, commit: name.optional() }),
  /** Of the whole run: processor time over time by the clock, and the mean of running processes at its end. */
  load: z.object({ processorShare: share, busy: z.boolean(), average: share }),
  /** How it was measured, in sentences. */
  method: z.array(text(1000)),
  backends: z.array(backend),
  layers: z.array(layer),
  memory: z.array(memory),
  cells: z.array(cell).max(100_000),
  absent: z.array(absentCell).max(100_000),
  brought: brought.optional(),
  reproduction: reproduction.optional(),
  study: study.optional(),
  ...reportSections,
});

export type CellAxes = z.infer<typeof axes>;
export type Phase = CellAxes['phase'];
export type MeasuredCell = z.infer<typeof cell>;
export type AbsentCell = z.infer<typeof absentCell>;
export type Times = z.infer<typeof times>;
export type MemoryRow = z.infer<typeof memory>;
export type Brought = z.infer<typeof brought>;
export type MatrixResult = z.infer<typeof resultSchema>;

const axisNames = Object.keys(axes.shape) as (keyof CellAxes)[];

/** The same for cells that stand at the same place. */
export const placeOf = (at: CellAxes): string => axisNames.map((axis) => at[axis]).join(' · ');
