// A GGUF file as a model: architecture, weights and tokenizer are all in it.
import { open } from 'node:fs/promises';
import { Tokenizer } from '@huggingface/tokenizers';
import { configFromGguf, type Decoder } from '@polyhead/transformer';
import { loadModel, readGguf, tokenizerFromGguf } from '@polyhead/weights';
import { kinds } from './kinds';
import type { Golden, LoadedModel } from './loaded-model';

/** @param options `golden` is of that very file; `keepBlocks` is that of `loadModel` */
export async function loadGguf(
  path: string,
  { golden, keepBlocks = false }: { readonly golden?: Golden; readonly keepBlocks?: boolean } = {},
): Promise<LoadedModel> {
  const file = await open(path);
  try {
    const checkpoint = await readGguf(file);
    const { metadata, tensors } = checkpoint;
    const source = configFromGguf(metadata, tensors);
    const model = await loadModel<Decoder>(checkpoint, source, kinds, { keepBlocks });
    const end = metadata.get('tokenizer.ggml.eos_token_id');
    return {
      title: String(metadata.get('general.name') ?? metadata.get('general.architecture')),
      model,
      tokenizer: tokenizerFromGguf(metadata, Tokenizer),
      stopTokens: typeof end === 'number' ? [end] : [],
      fileBytes: (await file.stat()).size,
      gguf: path,
      ...chat(String(metadata.get('tokenizer.chat_template') ?? '')),
      golden,
    };
  } finally {
    await file.close();
  }
}

/** ChatML is the one template that is known here; a model with another, or none, goes on with the text as it is. */
export function chat(template: string): Pick<LoadedModel, 'prompt' | 'question'> {
  if (!template.includes('<|im_start|>')) return { prompt: (text) => text, question: 'Call me Ishmael.' };
  return {
    prompt: (text) => `<|im_start|>user\n${text}<|im_end|>\n<|im_start|>assistant\n`,
    question: 'What is the capital of France?',
  };
}
