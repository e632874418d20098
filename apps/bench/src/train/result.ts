// What `bench train` writes: one schema with a version. Losses are bits a byte, of the training text and of held-out chapters.
//
// The same file is what an interrupted run goes on from. A section that a later version adds is optional; a change that an
// older reader would misread raises `version`.
import { z } from 'zod';

export const trainFormat = 'polyhead-train';
export const trainVersion = 1;

const name = z.string().min(1).max(200);
const count = z.int().nonnegative();
const positive = z.number().positive();

const candidate = { variant: name, position: name } as const;

const settings = z.object({
  /** Of each decoder. */
  steps: count.min(1),
  /** Windows of a step, and the bytes that each holds. */
  batch: count.min(1),
  length: count.min(1),
  /** Batches of held-out windows. */
  heldOutBatches: count.min(1),
  /** Each point of a curve is the mean of so many steps. */
  stepsAPoint: count.min(1),
  /** After pooling: a twentieth of the steps. */
  uptrainingSteps: count.min(1),
});

/** One decoder, trained from one seed. */
const run = z.object({
  ...candidate,
  seed: count,
  keyValueHeads: count,
  parameters: count,
  /** Keys and values of a token in all layers, as float32. */
  cacheBytesPerToken: count,
  /** Losses of the training text, before each step, by points. */
  curve: z.array(positive).min(1),
  heldOut: positive,
});

/** The reference of one seed, its key/value heads pooled, and trained on; held-out losses. */
const uptraining = z.object({
  variant: name,
  seed: count,
  keyValueHeads: count,
  /** Of the reference itself. */
  before: positive,
  /** Of the reference, trained on by as many steps. */
  referenceTrainedOn: positive,
  pooled: positive,
  trainedOn: positive,
});

/** Processor time of a step: candidates took turns in one process. */
const speed = z.object({
  ...candidate,
  samples: count.min(1),
  milliseconds: positive,
  /** To the reference: the median over turns. */
  ratio: positive,
});

export const trainSchema = z
  .looseObject({
    format: z.literal(trainFormat),
    version: z.literal(trainVersion),
    /** Such as `bench train --quick`. */
    command: z.string().min(1).max(500),
    /** False while decoders are to be trained. */
    complete: z.boolean(),
    /** When it began, in ISO 8601, and seconds that it took, interruptions left out. */
    begun: z.iso.datetime(),
    seconds: z.number().nonnegative(),
    machine: z.object({ cpu: z.string().max(200), cores: count.min(1) }),
    versions: z.object({ tfjs: name, node: name, commit: name.optional() }),
    /** How it was made, in sentences. */
    method: z.array(z.string().max(1000)),
    settings,
    reference: z.object(candidate),
    /** Candidates and seeds, all that `complete` asks for. */
    candidates: z.array(z.object(candidate)).min(1),
    seeds: z.array(count).min(1),
    runs: z.array(run).max(10_000),
    uptraining: z.array(uptraining).max(10_000),
    speed: z.array(speed).max(1000).optional(),
  })
  .refine(({ runs }) => new Set(runs.map(placeOf)).size === runs.length, {
    message: 'runs must differ in variant, position or seed',
    path: ['runs'],
  });

export type TrainSettings = z.infer<typeof settings>;
export type TrainedRun = z.infer<typeof run>;
export type Uptraining = z.infer<typeof uptraining>;
export type StepSpeed = z.infer<typeof speed>;
export type TrainResult = z.infer<typeof trainSchema>;

/** The same for runs of one decoder from one seed. */
export function placeOf({ variant, position, seed }: Pick<TrainedRun, 'variant' | 'position' | 'seed'>) {
  return `${variant}, ${position}, ${seed}`;
}
