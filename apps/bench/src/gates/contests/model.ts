// Tokens of a whole model, each contestant in a process of its own: they read the same file.
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { firstLine } from '../../../../../scripts/backends/errors';
import { findModel } from '../../../../../scripts/models/models';
import { smollmGolden } from '../../model/golden';
import type { FormName } from '../../model/weight-forms';
import { bundled } from '../bundle';
import { Child, type Program } from '../child-process';
import type { Contest, Entered } from '../contest';
import type { Contestant, Entry } from '../contestant';
import type { Gate } from '../gate';
import type { ModelGreeting, ModelTurn, ModelWork, OwnModelWork } from '../model-work';
import { polyhead } from '../peers/polyhead';

const floats: FormName = 'floats, tfjs';
const dense: FormName = 'floats, dense';
const blocks: FormName = 'blocks as in the file, dense';

const nodeLlama = 'node-llama-cpp';
const transformers = 'transformers';
/** What of the model both compute. */
const byFile = { [nodeLlama]: 'blocks as in the file', [transformers]: 'floats' } as const;

const tokens = 8;
const gates: readonly Gate[] = [
  { ours: blocks, peer: polyhead, ops: [floats], measure: 'speed', bound: 2, aim: 3 },
  { ours: dense, peer: polyhead, ops: [floats], measure: 'speed' },
  { ours: blocks, peer: nodeLlama, measure: 'speed' },
  { ours: dense, peer: transformers, measure: 'speed' },
  { ours: blocks, peer: transformers, measure: 'speed' },
];

const require = createRequire(import.meta.url);
const wasmPath = `${dirname(require.resolve('@tensorflow/tfjs-backend-wasm/package.json'))}/wasm-out/`;
const fileOf = async (program: string, withTfjs: boolean) =>
  fileURLToPath(await bundled(new URL(program, import.meta.url), { withTfjs }));

async function enter(): Promise<Entered> {
  const found = findModel('smollm2');
  if ('reason' in found)
    return { entries: [polyhead, nodeLlama, transformers].map((peer) => ({ peer, reason: found.reason })) };
  // The longest prompt, whose tokens nobody takes for others.
  const { ids: prompt, greedy } = smollmGolden().cases.at(-1)!;
  const work: ModelWork = { path: found.path, prompt, tokens };
  const own = await fileOf('../model-program.ts', true);
  const node = (peer: string, file: string): Program => ({ peer, command: process.execPath, args: [file] });
  const python = fileURLToPath(new URL('../peers/transformers-program.py', import.meta.url));
  const entries: Entry[] = [];
  for (const form of [floats, dense, blocks])
    entries.push(await enterModel(node(polyhead, own), form, { ...work, form, wasmPath }, greedy));
  const llama = node(nodeLlama, await fileOf('../peers/llama-program.ts', false));
  entries.push(await enterModel(llama, byFile[nodeLlama], work, greedy));
  const program = { peer: transformers, command: 'python3', args: [python] };
  entries.push(await enterModel(program, byFile[transformers], work, greedy));
  return { entries };
}

/** @param greedy the tokens that follow */
async function enterModel(
  program: Program,
  op: string,
  work: ModelWork | OwnModelWork,
  greedy: readonly number[],
): Promise<Entry> {
  const { peer } = program;
  const child = new Child(program, work);
  const turn = async () => (await child.ask({})) as ModelTurn;
  try {
    const greeting = (await child.answer()) as ModelGreeting;
    if ('absent' in greeting) throw new Error(greeting.absent);
    const contestant: Contestant = {
      peer,
      ...(peer !== polyhead && { version: greeting.version }),
      op,
      turn,
      /** The part of tokens that are others. */
      async error() {
        const { tokens } = await turn();
        return tokens.filter((token, n) => token !== greedy[n]).length / tokens.length;
      },
      dispose: () => child.end(),
    };
    return contestant;
  } catch (error) {
    await child.end();
    return { peer, reason: firstLine(error) };
  }
}

export const modelContests: readonly Contest[] = [
  { work: `${tokens} tokens of SmolLM2 (135 M, Q4_1) behind 120`, runs: 15, gates, enter },
];
