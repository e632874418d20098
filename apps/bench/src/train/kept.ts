// The result as it grows in its file: written after each decoder, and gone on from.
import { existsSync, renameSync } from 'node:fs';
import { UsageError } from '../command-line/errors';
import { type JsonKind, printable, readJsonObject, shown } from '../command-line/json-object';
import { writeTo } from '../command-line/user-path';
import { type TrainResult, trainFormat, trainSchema, trainVersion } from './result';

const resultFile: JsonKind = {
  most: 16 * 2 ** 20,
  usual: 'a result of bench train has less than a MiB',
  insteadOfFolder: 'the path of a file that bench train --json has written',
};

/** @throws UsageError, of one line, unless the file holds a result of this version */
export function readTrainResult(path: string): TrainResult {
  const json = readJsonObject(path, resultFile);
  for (const [field, wanted] of Object.entries({ format: trainFormat, version: trainVersion })) {
    if (json[field] === wanted) continue;
    throw new UsageError(
      `${path} is no result of this bench train: "${field}" must be ${shown(wanted)}, but is ${shown(json[field] ?? null)}`,
    );
  }
  const parsed = trainSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [{ path: at, message }] = parsed.error.issues as [(typeof parsed.error.issues)[number]];
  throw new UsageError(
    `${path} is no result of bench train: ${printable(at.join('.')).slice(0, 80)}: ${printable(message)}`,
  );
}

/**
 * What an earlier call has trained, of the same settings.
 *
 * @throws UsageError where the file holds anything else
 */
export function earlierResult(
  path: string,
  { settings, reference }: Pick<TrainResult, 'settings' | 'reference'>,
): TrainResult | undefined {
  if (!existsSync(path)) return undefined;
  const earlier = readTrainResult(path);
  const [wanted, kept] = [
    { settings, reference },
    { settings: earlier.settings, reference: earlier.reference },
  ].map((one) => JSON.stringify(one));
  if (wanted === kept) return earlier;
  throw new UsageError(
    `${path} holds decoders of other settings, ${kept}: this call wants ${wanted}. Give another --json, or remove it`,
  );
}

/** Whole or not at all: an interrupted call leaves the file before it. */
export function keep(path: string, result: TrainResult): void {
  const half = `${path}.part`;
  const text = JSON.stringify(result, rounded, 1);
  const curvesInLine = text.replace(/\[[-\d.,\s]+\]/g, (numbers) => numbers.replace(/\s+/g, ''));
  writeTo(half, `${curvesInLine}\n`);
  renameSync(half, path);
}

/** Losses of five digits behind the point: far below what seeds differ by. */
const rounded = (_: string, value: unknown) =>
  typeof value === 'number' && !Number.isInteger(value) ? Number(value.toFixed(5)) : value;
