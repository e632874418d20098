// How Chromium is started without a screen, and what isolates a page.
import { findChromium } from './find-chromium';

/** For Playwright's `launch`. Graphics are computed in software: a real card takes a browser with a screen. */
export function launchOptions() {
  const executablePath = findChromium();
  return { ...(executablePath && { executablePath }), args: [...quiet, ...software] };
}

const quiet = [
  ...['--no-sandbox', '--no-first-run', '--disable-background-networking', '--disable-component-update'],
  ...['--disable-sync', '--disable-quic'],
];

/** For WebGPU and for WebGL. */
const software = [
  ...['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader', '--enable-features=Vulkan'],
  ...['--use-vulkan=swiftshader', '--use-angle=swiftshader'],
];

/** Headers of a page that may share memory with its workers: the threads of wasm take them. */
export const isolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};
