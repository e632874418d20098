// A folder as Hugging Face's hub has it: config.json, weights as safetensors, tokenizer.json.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { configFromHuggingFace, type Decoder, type EncoderDecoder } from '@polyhead/transformer';
import { loadModel, readSafetensors } from '@polyhead/weights';
import { UsageError } from '../command-line/errors';
import { kinds } from './kinds';
import { chat } from './load-gguf';
import type { LoadedModel } from './loaded-model';

const weightFiles = 'model.safetensors';
const index = 'model.safetensors.index.json';

export async function loadFolder(folder: string): Promise<LoadedModel> {
  const json = (name: string) =>
    JSON.parse(readFileSync(join(folder, name), 'utf8')) as Record<string, unknown>;
  const has = (name: string) => existsSync(join(folder, name));
  const missing = ['config.json', 'tokenizer.json'].filter((name) => !has(name));
  if (!has(weightFiles) && !has(index)) missing.push(weightFiles);
  if (missing.length > 0) throw new UsageError(`${folder} has no ${missing.join(' and no ')}`);
  const config = json('config.json');
  const source = configFromHuggingFace(config);
  const opened = await openWeights(folder);
  const read = async () => loadModel<Decoder | EncoderDecoder>(await opened.read(), source, kinds);
  const model = await read().finally(opened.close);
  const tokenizerConfig = has('tokenizer_config.json') ? json('tokenizer_config.json') : {};
  return {
    title: basename(folder),
    model,
    tokenizer: new Tokenizer(json('tokenizer.json'), tokenizerConfig),
    stopTokens: [config.eos_token_id ?? []].flat() as number[],
    fileBytes: opened.bytes,
    ...chat(String(tokenizerConfig.chat_template ?? '')),
  };
}

/** One file, or shards by their index. */
async function openWeights(folder: string) {
  const handles: Awaited<ReturnType<typeof open>>[] = [];
  const openFile = async (name: string) => {
    const handle = await open(join(folder, name));
    handles.push(handle);
    return handle;
  };
  const close = async () => {
    for (const handle of handles) await handle.close();
  };
  const isWhole = existsSync(join(folder, weightFiles));
  if (isWhole)
    return {
      bytes: statSync(join(folder, weightFiles)).size,
      read: async () => readSafetensors(await openFile(weightFiles)),
      close,
    };
  const shards = JSON.parse(readFileSync(join(folder, index), 'utf8')) as {
    readonly weight_map: Readonly<Record<string, string>>;
  };
  const names = [...new Set(Object.values(shards.weight_map))];
  return {
    bytes: names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0),
    read: () => readSafetensors(shards, openFile),
    close,
  };
}
