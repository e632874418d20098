// `npx pnpm model:train` trains the small decoder on Moby Dick, and writes its file. The last chapters are held out.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { toConfig } from '@polyhead/core';
import { warmupCosine } from '@polyhead/transformer/training';
import { saveWeights } from '@polyhead/weights';
import { chooseBackend } from '../../backends/backend';
import { meanLoss, mobyDickBytes, randomWindows } from '../../train/byte-text';
import { fit } from '../../train/fit';
import { createOwnModel, ownModelFile } from './own-model';

const windows = { batch: 8, length: 128 };
const defaultSteps = 1800;

async function main(): Promise<void> {
  const options = { steps: { type: 'string', default: `${defaultSteps}` }, out: { type: 'string' } } as const;
  const { values } = parseArgs({ options });
  const steps = Number(values.steps);
  const backend = await chooseBackend();
  const text = mobyDickBytes();
  const model = createOwnModel();
  const parameters = model.variables.reduce((sum, { variable }) => sum + variable.size, 0);
  const { batch, length } = windows;
  console.log(`${parameters} parameters, ${steps} steps of ${batch} × ${length} bytes, on ${backend.name}`);
  const start = performance.now();
  await fit(model, {
    steps,
    rate: warmupCosine({ peak: 3e-3, warmupSteps: Math.min(100, steps - 1), steps, end: 1e-4 }),
    nextRows: randomWindows(text.training, windows, 1851),
    onStep(step, nats) {
      if (step % 50 > 0 && step < steps) return;
      const speed = Math.round((step * batch * length) / ((performance.now() - start) / 1000));
      console.log(`step ${step}: ${nats.toFixed(3)} nats a byte, ${speed} bytes a second`);
    },
  });
  const heldOut = await meanLoss(model, Array.from({ length: 16 }, randomWindows(text.heldOut, windows, 7)));
  console.log(`held-out chapters: ${heldOut.toFixed(3)} nats a byte`);
  const metadata = { config: JSON.stringify(toConfig(model)), heldOut: heldOut.toFixed(4) };
  writeFileSync(values.out ?? ownModelFile, await saveWeights(model, { type: 'F16', metadata }));
  model.dispose();
}

await main();
