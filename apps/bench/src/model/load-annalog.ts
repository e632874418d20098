// ANNalog: an encoder and a decoder from a molecule to one like it, as SMILES. A file of PyTorch, which holds weights only.
import { open } from 'node:fs/promises';
import type { WeightSource } from '@polyhead/core/layer';
import { MultiHeadAttention } from '@polyhead/multi-head';
import { learned } from '@polyhead/relative-position';
import { Decoder, Encoder, EncoderDecoder, type TextTokenizer } from '@polyhead/transformer';
import { loadWeights, readTorch } from '@polyhead/weights';
import type { Golden, LoadedModel } from './loaded-model';

type Stack = 'encoder' | 'decoder';
type Sources = Record<string, WeightSource>;

const [embedDim, numHeads, numLayers, maxLength, vocabularySize] = [256, 8, 3, 102, 59];
const [start, end] = [2, 3];

function createAnnalog(): EncoderDecoder {
  const partsOf = (name: Stack) => ({
    name,
    positions: learned({ embedDim, maxPositions: maxLength }, { name: `${name}/position` }),
    attention: (parts: object) => new MultiHeadAttention({ embedDim, numHeads, useBias: true }, parts),
  });
  const config = {
    ...{ vocabularySize, embedDim, numLayers, maxLength },
    norm: { kind: 'layer', epsilon: 1e-5 },
    normPlacement: 'post',
    feedForward: { hiddenDim: 512, activation: 'relu' },
    embeddingScale: Math.sqrt(embedDim),
  } as const;
  const encoder = new Encoder(config, partsOf('encoder'));
  const { attention, ...parts } = partsOf('decoder');
  const decoder = new Decoder(
    { ...config, headBias: true },
    { ...parts, attention, crossAttention: attention },
  );
  return new EncoderDecoder({ startToken: start }, { encoder, decoder });
}

const same = (tensor: string): WeightSource => ({ tensor });

function linear(ours: string, theirs: string): Sources {
  const kernel = { tensor: `${theirs}.weight`, steps: [{ transpose: [1, 0] }] };
  return { [`${ours}/kernel`]: kernel, [`${ours}/bias`]: same(`${theirs}.bias`) };
}

function norm(ours: string, theirs: string): Sources {
  return { [`${ours}/gain`]: same(`${theirs}.weight`), [`${ours}/offset`]: same(`${theirs}.bias`) };
}

function attention(ours: string, theirs: string): Sources {
  const parts = ['query', 'key', 'value', 'output'].map((part) =>
    linear(`${ours}/${part}`, `${theirs}.fc_${part[0]}`),
  );
  return Object.assign({}, ...parts);
}

function stack(name: Stack): Sources {
  const blocks = Array.from({ length: numLayers }, (_, layer) => {
    const [ours, theirs] = [`${name}/block${layer}`, `${name}.layers.${layer}`];
    return {
      ...attention(`${ours}/attention`, `${theirs}.self_attention`),
      ...norm(`${ours}/attentionNorm`, `${theirs}.self_attn_layer_norm`),
      ...(name === 'decoder' && attention(`${ours}/crossAttention`, `${theirs}.encoder_attention`)),
      ...(name === 'decoder' && norm(`${ours}/crossAttentionNorm`, `${theirs}.enc_attn_layer_norm`)),
      ...linear(`${ours}/feedForward/up`, `${theirs}.positionwise_feedforward.fc_1`),
      ...linear(`${ours}/feedForward/down`, `${theirs}.positionwise_feedforward.fc_2`),
      ...norm(`${ours}/feedForwardNorm`, `${theirs}.ff_layer_norm`),
    };
  });
  return {
    [`${name}/embedding/table`]: same(`${name}.tok_embedding.weight`),
    [`${name}/position/table`]: same(`${name}.pos_embedding.weight`),
    ...Object.assign({}, ...blocks),
  };
}

/** Pieces of SMILES, the longest first: the file of its own vocabulary is a pickle. */
export function smilesTokenizer(vocabulary: readonly string[]): TextTokenizer {
  const pieces = [...vocabulary.entries()].slice(4).sort(([, one], [, other]) => other.length - one.length);
  return {
    encode(text) {
      const ids = [start];
      for (let at = 0; at < text.length; ) {
        const [id, piece] = pieces.find(([, own]) => text.startsWith(own, at)) ?? [0, text[at]!];
        ids.push(id);
        at += piece.length;
      }
      return [...ids, end];
    },
    decode: (tokens) =>
      tokens.map((token) => (token === start || token === end ? '' : (vocabulary[token] ?? ''))).join(''),
  };
}

export async function loadAnnalog(
  path: string,
  { golden, vocabulary }: { readonly golden: Golden; readonly vocabulary: readonly string[] },
): Promise<LoadedModel> {
  const file = await open(path);
  try {
    const model = createAnnalog();
    await loadWeights(model, await readTorch(file), {
      variables: { ...stack('encoder'), ...stack('decoder'), ...linear('decoder/head', 'decoder.fc_out') },
    });
    return {
      title: 'ANNalog',
      model,
      tokenizer: smilesTokenizer(vocabulary),
      stopTokens: [end],
      fileBytes: (await file.stat()).size,
      prompt: (text) => text,
      question: 'CC(=O)Nc1ccc(O)cc1',
      golden,
    };
  } finally {
    await file.close();
  }
}
