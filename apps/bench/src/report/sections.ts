// What only the report measures, as it stands in a result beside what the matrix measures.
import { z } from 'zod';

const text = z.string().max(2000);
const count = z.int().nonnegative();
const share = z.number();

const headMaps = z.object({
  model: text,
  layer: count.min(1),
  text,
  pieces: z.array(z.object({ text, startsWord: z.boolean() })).max(256),
  heads: z.array(z.array(z.array(share).max(256)).max(256)).max(256),
  /** Of these weights, by head. */
  statistics: z
    .array(
      z.object({
        pattern: text,
        entropy: share,
        distance: share,
        strongestColumn: z.object({ key: count, share }),
      }),
    )
    .max(256)
    .optional(),
  ablation: z.array(share).optional(),
});

const sinks = z.object({ model: text, text, token: text, layers: z.array(share).max(1000) });

const quality = z.object({
  model: text,
  tokens: count,
  text,
  points: z
    .array(z.object({ name: text, kind: text, bytes: count, perplexity: z.number().positive() }))
    .max(200),
});

const trained = z.object({
  /** The command that trained them, and the commit it ran at. */
  command: text,
  commit: text.optional(),
  steps: count,
  complete: z.boolean(),
  points: z
    .array(
      z.object({
        name: text,
        bytesPerToken: count,
        heldOut: z.number().positive(),
        spread: share.optional(),
        seeds: count,
      }),
    )
    .max(500),
});

/** Each of them optional. */
export const reportSections = {
  maps: z.array(headMaps).max(20).optional(),
  sinks: z.array(sinks).max(20).optional(),
  quality: z.array(quality).max(20).optional(),
  trained: trained.optional(),
};

/** What the report measures. */
export type Sections = {
  readonly [name in keyof typeof reportSections]?: z.infer<(typeof reportSections)[name]>;
};

/** Of one layer and one text; weights to four digits. `ablation`: change of the last logits without a head, by head. */
export type HeadMaps = z.infer<typeof headMaps>;
/** The first token's share of each layer's weight, over its heads and all rows but its own. */
export type Sinks = z.infer<typeof sinks>;
/** Perplexity on a text, by what was done to keys and values; the first point is the model as it is. */
export type ModelQuality = z.infer<typeof quality>;
/** Small decoders, each trained from the start: bits a byte of held-out text, the mean over seeds. */
export type TrainedDecoders = z.infer<typeof trained>;
