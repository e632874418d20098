// `bench attention`: what the heads of a layer see in any text, on the terminal, as a picture and as a page.
import { Command, Option } from 'commander';
import { type BackendName, backendNames } from '../backends/backend-name';
import { wholeNumber } from '../command-line/option-values';
import type { Outlet } from '../command-line/outlet';
import { writablePaths } from '../command-line/user-path';
import { encoderName } from './choose-reader';

interface AttentionFlags {
  readonly beside?: string;
  readonly model: string;
  readonly layer?: number;
  readonly from?: string;
  readonly svg?: string;
  readonly html?: string;
  readonly backend?: BackendName;
}

const mostLayers = 1000;

export function attentionCommand(outlet: Outlet): Command {
  return new Command('attention')
    .description('draw what the heads of a layer see in any text')
    .argument('<text>', 'up to 128 tokens, about 90 words of English')
    .option('--beside <text>', 'a second text, to be compared')
    .option('--from <word>', 'a word of the text: what it looks at most, in words, by head')
    .option(
      '--model <name>',
      `${encoderName}, moby-dick, smollm2 (npx pnpm model:install smollm2), or the path of a decoder`,
      encoderName,
    )
    .addOption(
      new Option(
        '--layer <number>',
        'which layer; default: 2 of the encoder, the one in the middle of others',
      ).argParser(wholeNumber(1, mostLayers)),
    )
    .option('--svg <file>', 'also write a picture')
    .option('--html <file>', 'also write a page, which fetches nothing')
    .addOption(
      new Option('--backend <name>', 'what computes; default: the first of these that starts').choices(
        backendNames,
      ),
    )
    .action(async (text: string, { svg, html, beside, ...rest }: AttentionFlags) => {
      const files = writablePaths({ svg, html });
      const { drawAttention } = await import('./draw-attention');
      await drawAttention(
        { texts: beside === undefined ? [text] : [text, beside], ...rest, ...files },
        outlet,
      );
    });
}
