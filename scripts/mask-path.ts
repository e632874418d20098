// The files that a mask passes through on its way from `apply` to numbers, as a call shows them.
import { readdirSync, readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from './packages';

export interface MaskPath {
  /** From `packages`: the files with a function that ran. */
  readonly ran: readonly string[];
  /** Those of them where a function that ran speaks of a mask, or of the plan compiled from it. */
  readonly handle: readonly string[];
}

const maskOrPlan = /\b(\w*[mM]asks?|\w*[pP]lan)\b/;
/** In the structures of AssemblyScript a plan lies as these. */
const maskInAssembly = /\b(mask\w*|\w*[sS]pans|dense\w*|plan[A-Z]\w*)\b/;

/** Watches a call: V8 counts how often each function runs, and knows its text. */
export async function maskPath(call: () => unknown): Promise<MaskPath> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Debugger.enable'); // has the texts
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await call();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const ran = new Map<string, boolean>();
  for (const { scriptId, url, functions } of result) {
    const path = relative(join(root, 'packages'), url.startsWith('file:') ? fileURLToPath(url) : url);
    if (!/^[a-z-]+\/src\//.test(path)) continue;
    const { scriptSource } = await session.post('Debugger.getScriptSource', { scriptId });
    const texts = functions
      .filter(({ functionName, ranges: [range] }) => functionName !== '' && range && range.count > 0)
      .map(({ ranges: [range] }) => scriptSource.slice(range?.startOffset, range?.endOffset));
    if (texts.length > 0)
      ran.set(
        path,
        texts.some((text) => maskOrPlan.test(text)),
      );
  }
  session.disconnect();
  return { ran: [...ran.keys()], handle: [...ran].flatMap(([path, handles]) => (handles ? path : [])) };
}

/** Of a folder of AssemblyScript, whose functions V8 does not see: the files that name a mask, from `packages`. */
export function maskFilesOfAssembly(folder: string): string[] {
  return readdirSync(join(root, 'packages', folder))
    .filter((file) => {
      const text = readFileSync(join(root, 'packages', folder, file), 'utf8');
      return maskInAssembly.test(text.replace(/\/\*.*?\*\/|\/\/.*?$/gms, ''));
    })
    .map((file) => `${folder}/${file}`);
}
