// The report: a result as one page, whose first line is what to do.

import type { MatrixResult } from '../matrix/result';
import type { Html } from '../page/html';
import { html } from '../page/html';
import { pageText } from '../page/page';
import { adviceOf, answersOf } from './advice';
import { headsSection } from './heads-section';
import { memorySection } from './memory-section';
import { methodSection } from './method-section';
import { qualitySection } from './quality-section';
import { decodeSection, prefillSection, trainingSection } from './speed-sections';

const sections: readonly { readonly id: string; readonly title: string; body(result: MatrixResult): Html }[] =
  [
    { id: 'memory', title: 'How much memory a context takes', body: memorySection },
    { id: 'decode', title: 'How fast a token comes', body: decodeSection },
    { id: 'prefill', title: 'How fast a prompt is read', body: prefillSection },
    { id: 'training', title: 'How fast a model is trained', body: trainingSection },
    { id: 'quality', title: 'What smaller keys and values cost', body: qualitySection },
    { id: 'heads', title: 'What heads see', body: headsSection },
    { id: 'method', title: 'How it was measured', body: methodSection },
  ];

export function reportPage(result: MatrixResult): string {
  return pageText({
    title: 'Polyhead: which attention to take',
    lead: adviceOf(result),
    opening: answersOf(result),
    sections: sections
      .map(({ body, ...section }) => ({ ...section, body: body(result) }))
      .filter(({ body }) => body.text.trim() !== ''),
    footer: html`<p>Written by <code>${result.command}</code>, version ${result.version} of its results. This page fetches nothing and runs nothing.</p>`,
  });
}
