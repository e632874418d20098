// `bench backends`: which backends run on this machine, and what a layer costs on each.
import type { Outlet } from '../command-line/outlet';
import { writeTo } from '../command-line/user-path';
import { readEnvironment } from '../measure/environment';
import { backendLines, costLegend } from './backends-report';
import { measureInChromium } from './in-chromium';
import { measureInNode } from './in-node';
import type { BackendRow } from './row';
import { servePage, urlOf } from './serve-page';

export interface BackendsOptions {
  /** Fewer tokens and runs. */
  readonly quick: boolean;
  /** Serves the page to any browser instead. */
  readonly serve: boolean;
  readonly json?: string; // absolute path
}

export async function runBackends({ quick, serve, json }: BackendsOptions, outlet: Outlet): Promise<void> {
  if (serve) return serveForever(outlet);
  const options = quick ? { tokens: 64, runs: 3 } : { tokens: 512, runs: 15 };
  const rows: BackendRow[] = [];
  const add = (row: BackendRow) => {
    rows.push(row);
    outlet.progress.stage(`${row.backend} in ${row.where} is done`);
  };
  outlet.progress.stage('measuring the backends of Node');
  await measureInNode(options, add);
  await measureInChromium(options, add);
  outlet.print([...backendLines(rows), '', ...costLegend(options.tokens)]);
  if (json !== undefined) {
    writeTo(json, `${JSON.stringify({ environment: readEnvironment(), ...options, rows }, null, 2)}\n`);
  }
}

async function serveForever(outlet: Outlet): Promise<void> {
  const server = await servePage({ isolated: true, port: 8137 });
  outlet.print([`${urlOf(server)} measures the browser that opens it. Ctrl+C ends it.`]);
  await new Promise(() => {});
}
