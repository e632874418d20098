import { expect, it } from 'vitest';
import { backendLines } from './backends-report';
import { servePage, urlOf } from './serve-page';

it('shows what each backend costs, and why one does not run', () => {
  const costs = {
    kernel: 'composed',
    first: 1234,
    prefill: 56.78,
    decode: 9.1,
    training: 100,
    error: 6.5e-7,
  };
  const lines = backendLines([
    { where: 'Node', backend: 'tensorflow', outcome: { reason: 'it is not installed' } },
    { where: 'Chromium 156', backend: 'webgl', outcome: { device: 'a card', costs } },
  ]);
  expect(lines).toEqual([
    'where         backend  kernel    first  prefill  a token  training  error  computes on',
    'Chromium 156  webgl    composed  1,234     56.8     9.10       100   7e-7  a card',
    '',
    'tensorflow in Node does not run here: it is not installed',
  ]);
});

if (process.env.POLYHEAD_BACKEND === 'cpu') {
  it.each([true, false])('serves the page, isolated: %s', async (isolated) => {
    const server = await servePage({ isolated });
    try {
      const { headers } = await fetch(urlOf(server));
      expect(headers.get('Cross-Origin-Opener-Policy')).toBe(isolated ? 'same-origin' : null);
      expect(headers.get('Cross-Origin-Embedder-Policy')).toBe(isolated ? 'require-corp' : null);
      const script = await fetch(`${urlOf(server)}main.ts`);
      expect(await script.text()).toContain('measureCosts');
    } finally {
      await server.close();
    }
  });
}
