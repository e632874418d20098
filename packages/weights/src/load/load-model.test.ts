import { expectSameMemory, memoryNow } from '@polyhead/conformance';
import { MultiHeadAttention } from '@polyhead/multi-head';
import { expect, it } from 'vitest';
import { readSafetensors } from '../safetensors/read-safetensors';
import { saveWeights } from '../save/save-weights';
import { loadModel } from './load-model';

it('makes a model of its JSON and its file, and leaves nothing where the file is another model’s', async () => {
  const before = memoryNow();
  const layer = new MultiHeadAttention({ embedDim: 6, numHeads: 2, seed: 1 });
  const checkpoint = await readSafetensors(await saveWeights(layer));
  const again = await loadModel<MultiHeadAttention>(checkpoint, { config: layer.toJSON() }, [
    MultiHeadAttention,
  ]);
  for (const [n, { name, variable }] of layer.variables.entries()) {
    expect(again.variables[n]!.name).toBe(name);
    expect(await again.variables[n]!.variable.data()).toEqual(await variable.data());
  }
  const other = { kind: 'MultiHeadAttention', config: { embedDim: 8, numHeads: 2 } };
  await expect(loadModel(checkpoint, { config: other }, [MultiHeadAttention])).rejects.toThrow(
    /must be one of this model/,
  );
  await expect(loadModel(checkpoint, { config: other }, [])).rejects.toThrow(/pass the export/);
  layer.dispose();
  again.dispose();
  expectSameMemory(before);
});
