import { findChromium, findVulkanDriver } from './backends/chromium';
import { findTensorFlow } from './backends/tensorflow';
import { deviceNames } from './devices/projects';
import { missingPeer } from './peers/import-peer';

/**
 * The backends that the tests run on: `POLYHEAD_BACKENDS`, or all that are installed; those of browsers and graphics
 * cards where `POLYHEAD_DEVICES` is set. Says which is not, and why.
 */
export function testedBackends(): string[] {
  const { POLYHEAD_BACKENDS: wanted } = process.env;
  if (wanted) return wanted.split(',');
  return ['cpu', 'wasm', ...tensorflow(), ...devices()];
}

function tensorflow(): readonly string[] {
  const tensorflow = findTensorFlow();
  return 'path' in tensorflow ? ['tensorflow'] : absent('tensorflow', tensorflow.reason);
}

function devices(): readonly string[] {
  if (!process.env.POLYHEAD_DEVICES) return absent('webgpu and in Chromium', 'npx pnpm test:devices does');
  const dawn = missingPeer('webgpu');
  const hasDriver = findVulkanDriver() !== undefined || process.platform !== 'linux';
  const inNode = hasDriver && !dawn;
  const inPages = findChromium() !== undefined;
  if (dawn) absent('webgpu in Node', dawn);
  if (!hasDriver) absent('webgpu in Node', 'no Vulkan driver is found; chromium and libvulkan1 bring one');
  if (!inPages) absent('cpu, wasm, webgl and webgpu in Chromium', 'it is not found');
  return deviceNames.filter((name) => (name === 'webgpu' ? inNode : inPages));
}

function absent(backend: string, reason: string): readonly string[] {
  const line = `not tested on ${backend}: ${reason}`;
  const { POLYHEAD_SAID: said = '' } = process.env; // vitest reads its configuration once for each project
  if (!said.includes(line)) console.log(line);
  process.env.POLYHEAD_SAID = `${said}${line}\n`;
  return [];
}
