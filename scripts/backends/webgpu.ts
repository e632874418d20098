// WebGPU in Node, by the npm package `webgpu`: Dawn, on a graphics card or on a Vulkan driver in software.
import { existsSync } from 'node:fs';
import * as tf from '@tensorflow/tfjs-core';
import { importPeer } from '../peers/import-peer';
import { findVulkanDriver } from './chromium';
import { firstLine } from './errors';

interface Dawn {
  readonly create: (flags: readonly string[]) => GPU;
  readonly globals: object;
}

/** Starts the backend and makes it the current one, or says why not. */
export async function startWebGPU(): Promise<{ readonly device: string } | { readonly reason: string }> {
  try {
    const adapter = (hasGraphicsCard() && (await adapterHere())) || (await adapterInSoftware());
    if (!adapter) return { reason: 'there is no graphics card, and no Vulkan driver in its place' };
    await import('@tensorflow/tfjs-backend-webgpu'); // registers itself only where there is a `navigator.gpu`
    if (!(await tf.setBackend('webgpu'))) return { reason: 'it could not start' };
    return { device: adapter.info.description || adapter.info.device };
  } catch (error) {
    return { reason: firstLine(error) };
  }
}

/** Dawn would complain on the terminal where there is none. */
function hasGraphicsCard(): boolean {
  return process.platform !== 'linux' || ['/dev/dri', '/dev/nvidia0'].some((device) => existsSync(device));
}

async function adapterHere(): Promise<GPUAdapter | null> {
  const { create, globals } = (await importPeer('webgpu')) as Dawn;
  Object.assign(globalThis, globals);
  Object.defineProperty(globalThis, 'navigator', { value: { gpu: create([]) }, configurable: true });
  return navigator.gpu.requestAdapter();
}

async function adapterInSoftware(): Promise<GPUAdapter | null> {
  const driver = findVulkanDriver();
  if (!driver) return null;
  process.env.VK_DRIVER_FILES = driver;
  process.env.XDG_RUNTIME_DIR ??= '/tmp'; // a driver may ask for it
  return adapterHere();
}
