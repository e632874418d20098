import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { findModel } from '../../../../../scripts/models/models';
import { missingPeer } from '../../../../../scripts/peers/import-peer';
import { smollmGolden } from '../../model/golden';
import { bundled } from '../bundle';
import { Child } from '../child-process';
import type { ModelTurn } from '../model-work';

it('llama.cpp chooses the tokens of transformers from the same file, turn by turn', {
  timeout: 120_000,
}, async ({ skip }) => {
  const [missing, found] = [missingPeer('node-llama-cpp'), findModel('smollm2')];
  skip(missing !== undefined, missing);
  if ('reason' in found) return skip(found.reason);
  const { ids: prompt, greedy } = smollmGolden().cases.at(-1)!;
  const file = fileURLToPath(
    await bundled(new URL('llama-program.ts', import.meta.url), { withTfjs: false }),
  );
  const program = { peer: 'node-llama-cpp', command: process.execPath, args: [file] };
  const child = new Child(program, { path: found.path, prompt, tokens: 4 });
  try {
    expect(await child.answer()).toEqual({ version: expect.stringMatching(/^\d/) });
    for (let turn = 0; turn < 2; turn++) {
      const { tokens, ms } = (await child.ask({})) as ModelTurn;
      expect(tokens).toEqual(greedy.slice(0, 4));
      expect(ms).toBeGreaterThan(0);
    }
  } finally {
    await child.end();
  }
});
