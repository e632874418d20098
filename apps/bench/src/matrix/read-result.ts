// A result that was kept, from a file that may hold anything.
import { UsageError } from '../command-line/errors';
import { type JsonKind, printable, readJsonObject, shown } from '../command-line/json-object';
import { userPath } from '../command-line/user-path';
import { type MatrixResult, resultFormat, resultSchema, resultVersion } from './result';

const resultFile: JsonKind = {
  most: 64 * 2 ** 20,
  usual: 'a result of bench has a few MiB at most',
  insteadOfFolder: 'the path of a file that bench --json has written',
};

/** @throws UsageError, of one line, unless the file holds a result of this version */
export function readResult(file: string): MatrixResult {
  const path = userPath(file);
  const json = readJsonObject(path, resultFile);
  if (json.format !== resultFormat) {
    throw new UsageError(
      `${path} is no result of bench: "format" must be "${resultFormat}", but is ${shown(json.format ?? null)}`,
    );
  }
  if (json.version !== resultVersion) {
    throw new UsageError(
      `${path} has version ${shown(json.version ?? null)} of the results of bench: this bench reads ${resultVersion}`,
    );
  }
  const parsed = resultSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [{ path: at, message }] = parsed.error.issues as [(typeof parsed.error.issues)[number]];
  throw new UsageError(
    `${path} is no result of bench: ${printable(at.join('.')).slice(0, 80)}: ${printable(message)}`,
  );
}
