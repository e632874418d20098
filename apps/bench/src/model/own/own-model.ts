// A small decoder of our own: bytes of text, trained on Moby Dick by `npx pnpm model:train`.
import { readFile, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { GroupedQueryAttention } from '@polyhead/grouped-query';
import { rotary } from '@polyhead/relative-position';
import { Decoder, type DecoderConfig, type TextTokenizer } from '@polyhead/transformer';
import { loadModel, readSafetensors } from '@polyhead/weights';
import type { LoadedModel } from '../loaded-model';

/** The file that training writes, and that the repository holds. */
export const ownModelFile = fileURLToPath(new URL('../../../model/moby-dick.safetensors', import.meta.url));

const [numHeads, headDim] = [4, 32];

/** 0.7 million parameters, in Llama's form, whatever its attention. */
export const smallDecoder = {
  vocabularySize: 256,
  embedDim: 128,
  numLayers: 4,
  norm: { kind: 'rms' },
  feedForward: { hiddenDim: 320, activation: 'silu', gated: true, useBias: false },
  head: 'tied',
} as const satisfies DecoderConfig;

/** The likeliest bytes alone go in circles: so small a model writes best with some chance, the same at each run. */
export const ownSampling = { temperature: 0.5, topP: 0.9, seed: 2 } as const;

/** Tokens are bytes of UTF-8. */
export const byteTokenizer: TextTokenizer = {
  encode: (text) => [...new TextEncoder().encode(text)],
  decode: (tokens) => new TextDecoder().decode(Uint8Array.from(tokens)),
};

export function createOwnModel(): Decoder {
  const { embedDim } = smallDecoder;
  const position = rotary({ headDim });
  return new Decoder(
    { ...smallDecoder, seed: 1851 },
    {
      attention: ({ name, ...parts }) =>
        new GroupedQueryAttention(
          { embedDim, numHeads, numKeyValueHeads: 2, headDim, useBias: false, seed: 1851 },
          { ...parts, name, position },
        ),
    },
  );
}

/** The trained model as the bench asks it. */
export async function loadedOwnModel(): Promise<LoadedModel> {
  const { size } = await stat(ownModelFile);
  return {
    title: 'Moby Dick, byte by byte',
    model: await loadOwnModel(),
    tokenizer: byteTokenizer,
    stopTokens: [],
    fileBytes: size,
    prompt: (text) => text,
    sampling: ownSampling,
    question: 'Call me Ishmael. ',
  };
}

/** The trained model, out of the repository's file alone. */
export async function loadOwnModel(file: string = ownModelFile): Promise<Decoder> {
  const checkpoint = await readSafetensors(new Uint8Array(await readFile(file)));
  const config: object = JSON.parse(String(checkpoint.metadata.get('config')));
  return loadModel<Decoder>(checkpoint, { config }, [Decoder, GroupedQueryAttention, rotary]);
}
