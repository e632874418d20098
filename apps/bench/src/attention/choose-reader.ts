// The model whose attention is drawn, by name or path.
import { UsageError } from '../command-line/errors';
import { chooseModel } from '../model/choose-model';
import { decoderReader } from './decoder-reader';
import { loadEncoderReader } from './encoder-reader';
import type { Reader } from './reader';

export const encoderName = 'encoder';

/** Of files that call themselves otherwise than people do. */
const titles: Readonly<Record<string, string>> = { smollm2: 'SmolLM2 135M' };

/**
 * @param layer from 1; by default the reader's own
 * @throws UsageError for what is no such model, and for a layer that it does not have
 */
export async function chooseReader(
  name: string,
  layer?: number,
): Promise<{ readonly reader: Reader; readonly layer: number }> {
  const reader =
    name === encoderName
      ? await loadEncoderReader()
      : decoderReader({ ...(await chooseModel(name)), ...(titles[name] && { title: titles[name] }) });
  const { usualLayer, layers, title } = reader;
  if (layer === undefined || layer <= layers) return { reader, layer: layer ?? usualLayer };
  reader.dispose();
  throw new UsageError(`--layer ${layer}: ${title} has layers 1 to ${layers}`);
}
