// What `pnpm peers:install` puts beside the workspace.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import manifest from './package.json' with { type: 'json' };

export type Peer = keyof typeof manifest.dependencies;

export const peerVersions: Readonly<Record<Peer, string>> = manifest.dependencies;

/** Why it cannot be imported; undefined where it can. */
export function missingPeer(name: Peer): string | undefined {
  const folder = fileURLToPath(new URL(`node_modules/${name}`, import.meta.url));
  return existsSync(folder) ? undefined : `${name} is not installed (npx pnpm peers:install)`;
}

/** @throws Error that says how to install it */
export async function importPeer(name: Peer): Promise<unknown> {
  const reason = missingPeer(name);
  if (reason) throw new Error(reason);
  const file = createRequire(import.meta.url).resolve(name); // found from here, whoever has this file in a bundle
  return import(/* @vite-ignore */ pathToFileURL(file).href);
}
