// What is compared by training: each variant with rotary positions, and each position method with grouped heads.
import { countParameters, type PositionMethod } from '@polyhead/core';
import { cacheBytes } from '@polyhead/inspect';
import { learned } from '@polyhead/relative-position';
import { type AbsolutePosition, Decoder } from '@polyhead/transformer';
import { positions as methods } from '../axes/positions';
import { variants } from '../axes/variants';
import { UsageError } from '../command-line/errors';
import { smallDecoder } from '../model/own/own-model';

/** A decoder to be trained, by the names of its parts. */
export interface Candidate {
  readonly variant: string;
  readonly position: string;
}

/** Heads of 16, so that fewer key/value heads leave several steps down to one. */
export const numHeads = 8;
const { embedDim, numLayers } = smallDecoder;
const layer = { embedDim, numHeads, useBias: false } as const;

/** Variants are compared with this position method, position methods with this variant. */
const usual: Candidate = { variant: 'grouped-4', position: 'rotary' };
/** What the others are compared with. */
export const reference: Candidate = { ...usual, variant: variants[0]!.name };

interface Shape {
  readonly longest: number;
  readonly seed: number;
}

/** At most one of the two: nothing is told of positions otherwise. */
interface TrainedPosition {
  readonly name: string;
  readonly isOptional?: true;
  ofLayer?(shape: Shape): PositionMethod;
  /** Added to the embeddings. */
  ofEmbeddings?(shape: Shape): AbsolutePosition;
}

/** Those of the bench, and two that are no part of attention. */
const methodsOfPosition: readonly TrainedPosition[] = [
  { name: 'none' },
  {
    name: 'learned',
    ofEmbeddings: ({ longest, seed }) =>
      learned({ embedDim, maxPositions: longest, seed }, { name: 'positions' }),
  },
  ...methods.map(({ name, isOptional, create }) => ({
    name,
    ...(isOptional && { isOptional }),
    ofLayer: (shape: Shape) => create({ ...layer, ...shape }).position,
  })),
];

/** Those that fit; groups of one head are multi-head attention by another name. */
const distinct = variants.filter((one) => !one.unfit(layer) && one.keyValueHeads !== numHeads);

export const candidateNames = [...new Set([...distinct, ...methodsOfPosition].map(({ name }) => name))];

/**
 * The reference first.
 *
 * @param only names of variants and position methods. Default: all but the optional ones
 */
export function chooseCandidates(only?: readonly string[]): Candidate[] {
  const wanted = ({ name, isOptional }: { readonly name: string; readonly isOptional?: true }) =>
    only?.includes(name) ?? !isOptional;
  const all = [
    reference,
    ...distinct
      .filter(({ name }) => only?.includes(name) ?? true)
      .map(({ name }) => ({ ...usual, variant: name })),
    ...methodsOfPosition.filter(wanted).map(({ name }) => ({ ...usual, position: name })),
  ];
  return [...new Map(all.map((one) => [nameOf(one), one])).values()];
}

export const nameOf = ({ variant, position }: Candidate) => `${variant}, ${position}`;

export interface TrainedDecoder {
  readonly model: Decoder;
  dispose(): void;
}

/** The same decoder for a seed. */
export function createDecoder(
  candidate: Candidate,
  { seed, longest }: { readonly seed: number; readonly longest: number },
): TrainedDecoder {
  const variant = variantOf(candidate);
  const method = methodsOfPosition.find(({ name }) => name === candidate.position);
  if (!method) throw new UsageError(`there is no position method ${candidate.position}`);
  const owned: { dispose(): void }[] = [];
  const keep = <T extends { dispose(): void }>(part: T | undefined) => {
    if (part) owned.push(part);
    return part;
  };
  const positions = keep(method.ofEmbeddings?.({ longest, seed }));
  const model = new Decoder(
    { ...smallDecoder, seed },
    {
      ...(positions && { positions }),
      attention: (parts, index) => {
        const position = keep(method.ofLayer?.({ longest, seed: 100 * seed + index }));
        return variant.create({ ...layer, seed }, { ...parts, ...(position && { position }) });
      },
    },
  );
  return {
    model,
    dispose() {
      model.dispose();
      for (const part of owned) part.dispose();
    },
  };
}

function variantOf({ variant }: Candidate) {
  const known = distinct.find(({ name }) => name === variant);
  if (!known) throw new UsageError(`there is no variant ${variant} of ${numHeads} heads`);
  return known;
}

/** Of all layers. */
export function sizesOf(candidate: Candidate, model: Decoder) {
  const shape = variantOf(candidate).cacheShape(layer, 1);
  return {
    keyValueHeads: shape.heads,
    parameters: countParameters(
      Object.fromEntries(model.variables.map(({ name, variable }) => [name, variable.shape])),
    ),
    /** Keys and values as float32. */
    cacheBytesPerToken: numLayers * cacheBytes(shape, { tokens: 1 }),
  };
}

/** Variants that the reference's heads can be pooled into. */
export const pooledVariants = distinct.flatMap(({ name, keyValueHeads }) =>
  keyValueHeads === undefined ? [] : [{ name, keyValueHeads }],
);
