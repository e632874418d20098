// The end of a process that computes a model of a file, for programs of JavaScript.
import { createInterface } from 'node:readline';
import { firstLine, printUncaughtErrors } from '../../../../scripts/backends/errors';
import { timed } from '../measure/timed';
import type { ModelGreeting, ModelTurn, ModelWork } from './model-work';

export interface OpenedModel {
  readonly version: string;
  /** Takes the cache back to the prompt without its last token. */
  reset(): void | Promise<void>;
  /** The likeliest tokens, one after the other, from that last token on. */
  generate(): AsyncIterable<number>;
}

/** Greets, and answers until there are no more questions. @param open throws why it cannot */
export async function serveModel<Job extends ModelWork>(
  open: (job: Job) => Promise<OpenedModel>,
): Promise<void> {
  printUncaughtErrors();
  const job = JSON.parse(process.argv.at(-1)!) as Job;
  const answer = (message: ModelGreeting | ModelTurn) => process.stdout.write(`${JSON.stringify(message)}\n`);
  let model: OpenedModel;
  try {
    model = await open(job);
  } catch (error) {
    answer({ absent: firstLine(error) });
    return;
  }
  answer({ version: model.version });
  for await (const _ of createInterface({ input: process.stdin })) {
    await model.reset();
    const tokens: number[] = [];
    const { turn } = await timed(async () => {
      for await (const token of model.generate()) {
        tokens.push(token);
        if (tokens.length === job.tokens) break;
      }
    });
    answer({ ...turn, tokens });
  }
  process.exit(); // a library may keep threads
}
