// What of a graphics card, or of software in its place, is on this machine.
import { existsSync } from 'node:fs';

const places = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The browser: where POLYHEAD_CHROMIUM says, or where it is usually installed. */
export function findChromium(): string | undefined {
  const { POLYHEAD_CHROMIUM: given } = process.env;
  return given ? given : places.find((place) => existsSync(place));
}

/** The Vulkan driver in software that comes with Debian's chromium; a driver that the environment names goes first. */
export function findVulkanDriver(): string | undefined {
  const { VK_DRIVER_FILES: given } = process.env;
  const ofChromium = '/usr/lib/chromium/vk_swiftshader_icd.json';
  return given ? given : [ofChromium].find((file) => existsSync(file));
}
