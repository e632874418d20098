// The test project that opens the pages of docs/browser.md, where Chromium's backends are tested.
import type { TestProjectInlineConfiguration } from 'vitest/config';

export function pageProject(backends: readonly string[]): TestProjectInlineConfiguration[] {
  if (!backends.includes('chromium-wasm')) return [];
  const patience = { testTimeout: 60_000, hookTimeout: 60_000 };
  return [{ extends: true, test: { ...patience, name: 'pages', include: ['scripts/pages/*.test.ts'] } }];
}
