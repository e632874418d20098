// `bench plan`: what the attention of a model takes, at once and without computing any.
import { Command, Option } from 'commander';
import { jsonText } from '../command-line/json-object';
import { byteSize, wholeNumber } from '../command-line/option-values';
import type { Outlet } from '../command-line/outlet';
import { writablePath, writeTo } from '../command-line/user-path';
import type { ByteSize } from '../print/byte-size';
import { mostLayers, mostSize, mostTokens } from './planned-model';

interface PlanFlags {
  readonly embedDim?: number;
  readonly heads?: number;
  readonly kvHeads?: number;
  readonly headDim?: number;
  readonly layers?: number;
  readonly context?: number;
  readonly batch: number;
  readonly memory?: ByteSize;
  readonly json?: string;
}

const defaultContext = 4096;

export function planCommand(outlet: Outlet): Command {
  const command = new Command('plan')
    .description('parameters, bytes of keys and values, and operations of the attention of a model')
    .argument('[model]', "a well-known model's name, or the path of a Hugging Face config.json");
  const size = (flags: string, description: string, most = mostSize) =>
    command.addOption(new Option(flags, description).argParser(wholeNumber(1, most)));
  size('--embed-dim <n>', 'width of the model');
  size('--heads <n>', 'query heads');
  size('--kv-heads <n>', 'key/value heads, which must divide the query heads; default: as many');
  size('--head-dim <n>', 'size of a head; default: width / heads');
  size('--layers <n>', 'attention layers; default: 1', mostLayers);
  size('--context <n>', `tokens of a sequence; default: the model's, or ${defaultContext}`, mostTokens);
  command.addOption(
    new Option('--batch <n>', 'sequences at once').argParser(wholeNumber(1, mostSize)).default(1),
  );
  command.addOption(
    new Option('--memory <size>', 'for keys and values, such as 8GB: which context fits').argParser(byteSize),
  );
  command.option('--json <file>', 'also write the numbers to a file; - writes them alone, to the terminal');
  return command.action(async (modelOrPath: string | undefined, flags: PlanFlags) => {
    const [{ chooseModel }, { planAttention }, { planJson, planLines }] = await Promise.all([
      import('./choose-model'),
      import('./plan'),
      import('./report'),
    ]);
    const { context, batch, memory, json, ...sizes } = flags;
    const path = json === undefined || json === '-' ? undefined : writablePath(json); // before anything is printed
    const model = chooseModel(modelOrPath, sizes);
    const tokens = context ?? model.context ?? defaultContext;
    const plan = planAttention(model, { context: tokens, batch, ...(memory && { memory }) });
    const text = jsonText(planJson(plan));
    if (json === '-') outlet.write(text);
    else outlet.print(planLines(plan, outlet.terminal.width));
    if (path !== undefined) writeTo(path, text);
  });
}
