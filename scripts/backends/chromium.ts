// Chromium and the graphics driver that comes with it: where they are, how it is started without a screen, and what isolates
// a page.
import { existsSync } from 'node:fs';

const usualPaths = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The browser: where POLYHEAD_CHROMIUM says, or where it is usually installed. */
export function findChromium(): string | undefined {
  const { POLYHEAD_CHROMIUM: chosen } = process.env;
  return chosen ? chosen : usualPaths.find((place) => existsSync(place));
}

/** The Vulkan driver in software that comes with Debian's chromium; a driver that the environment names goes first. */
export function findVulkanDriver(): string | undefined {
  const { VK_DRIVER_FILES: chosen } = process.env;
  const ofChromium = '/usr/lib/chromium/vk_swiftshader_icd.json';
  return chosen ? chosen : [ofChromium].find((file) => existsSync(file));
}

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
