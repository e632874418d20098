// llama.cpp by node-llama-cpp, driven by contests/model.ts: its prebuilt library for processors, on one thread.
import { importPeer, peerVersions } from '../../../../../scripts/peers/import-peer';
import { serveModel } from '../model-child';

/** What of it is used. */
interface NodeLlama {
  getLlama(options: object): Promise<{ loadModel(options: object): Promise<LlamaModel> }>;
}

interface LlamaModel {
  createContext(options: object): Promise<{ getSequence(): LlamaSequence }>;
}

interface LlamaSequence {
  readonly nextTokenIndex: number;
  eraseContextTokenRanges(ranges: readonly { start: number; end: number }[]): Promise<void>;
  evaluateWithoutGeneratingNewTokens(tokens: readonly number[]): Promise<void>;
  evaluate(tokens: readonly number[], options: object): AsyncGenerator<number>;
}

await serveModel(async ({ path, prompt, tokens }) => {
  const { getLlama } = (await importPeer('node-llama-cpp')) as NodeLlama;
  const llama = await getLlama({
    ...{ gpu: false, maxThreads: 1, logLevel: 'error' },
    ...{ build: 'never', skipDownload: true }, // it compiles and fetches nothing
  });
  const model = await llama.loadModel({ modelPath: path });
  const context = await model.createContext({ contextSize: prompt.length + tokens + 8, threads: 1 });
  const sequence = context.getSequence();
  const held = prompt.length - 1;
  await sequence.evaluateWithoutGeneratingNewTokens(prompt.slice(0, held));
  return {
    version: peerVersions['node-llama-cpp'],
    async reset() {
      if (sequence.nextTokenIndex > held)
        await sequence.eraseContextTokenRanges([{ start: held, end: sequence.nextTokenIndex }]);
    },
    generate: () => sequence.evaluate(prompt.slice(held), { temperature: 0 }),
  };
});
